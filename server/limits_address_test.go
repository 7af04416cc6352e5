package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/server/realtime"
	"github.com/dogwooddb/dogwood/sync/outbox"
)

// An address has so many connections, of whatever kind, and others do not notice.
func TestAddressConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townTest(t, AddressLimits{Connections: 2, ConnectRate: -1})
		defer tn.shutdown()
		crowd, other := tn.at("198.51.100.1"), tn.at("198.51.100.2")
		n := tn.network(t, "198.51.100.1")

		stream := crowd.follow("/a.json")
		ws := n.connect("").ws
		wantTooMany(t, "a third connection", crowd.do(call{"GET", "/a.json", nil, noBody}))
		if _, status := n.handshake(nil); status != 429 {
			t.Errorf("a third WebSocket: %d, want 429", status)
		}
		if r := other.do(call{"GET", "/a.json", nil, noBody}); r.StatusCode != 200 {
			t.Errorf("another address: %d", r.StatusCode)
		}
		tn.wantRefused(t, metrics.AddressConnections, 2)

		ws.Close()
		synctest.Wait()
		if r := crowd.do(call{"GET", "/a.json", nil, noBody}); r.StatusCode != 200 {
			t.Errorf("after a WebSocket has ended: %d", r.StatusCode)
		}
		synctest.Wait()
		ws, status := n.handshake(nil)
		if status != 101 {
			t.Fatalf("a WebSocket in the place of another: %d", status)
		}
		ws.Close()
		stream.Close()
		synctest.Wait()
		tn.wantIdle(t)
	})
}

// Those that are only there to be refused are few.
func TestConnectionFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townTest(t, AddressLimits{Connections: 5})
		defer tn.shutdown()
		var conns []net.Conn
		for range 100 {
			c, err := tn.at("198.51.100.1").dial()
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
		}
		synctest.Wait()
		open := 0
		for _, c := range conns {
			c.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				open++
			}
		}
		if open != 5+peer.MaxExcess {
			t.Errorf("%d connections are open, want %d", open, 5+peer.MaxExcess)
		}
		if r := tn.at("198.51.100.2").do(call{"GET", "/a.json", nil, noBody}); r.StatusCode != 200 {
			t.Errorf("another address: %d", r.StatusCode)
		}
		time.Sleep(headerTimeout)
		synctest.Wait()
		tn.wantIdle(t) // none of them has said anything in time
		tn.wantRefused(t, metrics.SlowHeaders, 5+peer.MaxExcess)
		for _, c := range conns {
			c.Close()
		}
	})
}

func TestAddressPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townTest(t, AddressLimits{Polls: 2})
		defer tn.shutdown()
		n := tn.network(t, "198.51.100.1")
		for range 2 {
			n.browser().start("")
		}
		if status := n.browser().get("start=t&cb=1&ser=1"); status != 429 {
			t.Errorf("a third: %d, want 429", status)
		}
		tn.wantRefused(t, metrics.AddressPolls, 1)
		tn.network(t, "198.51.100.2").browser().start("")
		n.connect("").ws.Close() // a WebSocket is none
		time.Sleep(realtime.PollFirst + idleTimeout)
		synctest.Wait()
		tn.wantIdle(t)
		n.browser().start("")
	})
}

// One that sends slowly holds its part of what all have for bodies, and not more.
func TestAddressBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townOf(t, Options{Dev: true, Limits: Limits{MaxBodiesBytes: 1 << 20}})
		defer tn.shutdown()
		hold := func(addr string) net.Conn {
			conn, _ := tn.at(addr).send(call{"PUT", "/a.json", http.Header{"Content-Length": {"500000"}}, `"` + strings.Repeat("x", 200<<10)})
			synctest.Wait()
			return conn
		}
		var held []net.Conn
		for range 4 {
			held = append(held, hold("198.51.100.1"))
		}
		if used := tn.all.Bodies.Meter().Used(); used > 512<<10 {
			t.Errorf("one address holds %d of 1 MiB", used)
		}
		if got := tn.metrics.Refused.Of(metrics.AddressBodies); got != 2 {
			t.Errorf("%d bodies of the address were refused, want 2", got)
		}
		tn.wantRefused(t, metrics.Bodies, 0)
		long := `"` + strings.Repeat("x", 200<<10) + `"`
		tn.at("198.51.100.2").want("PUT", "/b.json", long, 200, long)

		ws := tn.network(t, "198.51.100.1").connect("").ws // it counts there as well
		ws.WriteMessage(websocket.TextMessage, []byte("100"))
		piece := []byte(strings.Repeat("x", 16<<10))
		var err error
		for range 50 {
			if err = ws.WriteMessage(websocket.TextMessage, piece); err != nil {
				break
			}
		}
		if err == nil {
			t.Error("an unfinished message of 800 KiB was taken")
		}
		ws.Close()
		for _, c := range held {
			c.Close()
		}
		time.Sleep(time.Second) // in which net/http lets clients read
		synctest.Wait()
		tn.wantIdle(t)
		if used := tn.all.Bodies.Meter().Used(); used != 0 {
			t.Errorf("%d bytes were not given back", used)
		}
	})
}

// One that does not read its answers holds its part of what all have for them.
func TestAddressAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 200 << 10
		tn := townOf(t, Options{Dev: true, Limits: Limits{MaxAnswersBytes: 1 << 20}})
		defer tn.shutdown()
		long := `"` + strings.Repeat("x", size-2) + `"`
		tn.at("198.51.100.2").want("PUT", "/long.json?print=silent", long, 204, "")
		var deaf []net.Conn
		for range 4 {
			c, _ := tn.at("198.51.100.1").send(call{"GET", "/long.json", nil, noBody})
			deaf = append(deaf, c)
			synctest.Wait()
		}
		if used := tn.all.Answers.Meter().Used(); used > 512<<10 {
			t.Errorf("one address holds %d of 1 MiB", used)
		}
		if got := tn.metrics.Refused.Of(metrics.AddressAnswers); got != 2 {
			t.Errorf("%d answers of the address waited, want 2", got)
		}
		tn.at("198.51.100.2").want("GET", "/long.json", noBody, 200, long)
		for _, c := range deaf {
			c.Close()
		}
		time.Sleep(peer.WriteTimeout + peer.MemoryTimeout)
		synctest.Wait()
		tn.wantIdle(t)
	})
}

// Values for listeners count like answers, and can be seen in the metrics.
func TestAddressViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 200 << 10
		tn := townOf(t, Options{Dev: true, Limits: Limits{
			MaxAnswersBytes: 10 * size,
			PerAddress:      AddressLimits{BodyBytes: 2 * size},
		}})
		defer tn.shutdown()
		long := `"` + strings.Repeat("x", size-2) + `"`
		tn.at("198.51.100.2").want("PUT", "/long.json?print=silent", long, 204, "")
		var deaf []net.Conn
		for range 5 {
			c, _ := tn.at("198.51.100.1").send(call{"GET", "/long.json", http.Header{"Accept": {"text/event-stream"}}, noBody})
			deaf = append(deaf, c)
			synctest.Wait()
		}
		if held := tn.source().ViewBytes; held < 2*size || held >= 3*size {
			t.Errorf("5 streams that are not read hold %d bytes, want those of 2 values of %d", held, size)
		}
		for _, c := range deaf {
			c.Close()
		}
		synctest.Wait()
		if held := tn.source().ViewBytes; held != 0 {
			t.Errorf("%d bytes were not given back", held)
		}
	})
}

// Events and replies that wait for clients which do not read are bounded for their address,
// and others lose none of theirs.
func TestAddressWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townOf(t, Options{Dev: true, DefaultNamespace: "test", Limits: Limits{MaxAnswersBytes: 2 << 20}})
		defer tn.shutdown()
		const most = 512 << 10 // of an address: a half of what all have
		var deaf []*wsClient
		for i := range 50 {
			c := tn.network(t, "198.51.100.1").connect("")
			c.reply("q", fmt.Sprintf(`{"p":"/p%d","h":""}`, i))
			deaf = append(deaf, c)
		}
		other := tn.network(t, "198.51.100.2").connect("")
		other.reply("q", `{"p":"/p0","h":""}`)
		writer := tn.at("198.51.100.1")
		for n := range 10 {
			long := fmt.Sprintf(`"%d%s"`, n, strings.Repeat("x", 20_000))
			for i := range deaf {
				writer.want("PUT", fmt.Sprintf("/p%d.json?print=silent", i), long, 204, "")
			}
			synctest.Wait()
			if held := tn.source().WaitingBytes; held > most+128<<10 {
				t.Fatalf("after %d writes %d bytes wait, want %d at most", n+1, held, most)
			}
			other.want(fmt.Sprintf(`{"t":"d","d":{"a":"d","b":{"p":"p0","d":%s}}}`, long))
		}
		for _, c := range deaf {
			c.ws.NetConn().Close()
		}
		time.Sleep(2 * peer.WriteTimeout)
		synctest.Wait()
		if held := tn.source().WaitingBytes; held != 0 {
			t.Errorf("%d bytes were not given back", held)
		}
	})
}

// Behind a proxy, requests count for the address that it tells, whatever
// connection they come through.
func TestProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townTest(t, AddressLimits{
			Connections: 1, ConnectRate: 1,
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		})
		defer tn.shutdown()
		proxy := tn.network(t, "10.0.0.1")
		from := func(addr string) http.Header { return http.Header{peer.HeaderForwardedFor: {"127.0.0.1, " + addr}} }
		get := func(addr string) result {
			return tn.at("10.0.0.1").do(call{"GET", "/a.json", from(addr), noBody})
		}
		ws, status := proxy.handshake(from("198.51.100.1"))
		if status != 101 {
			t.Fatalf("a first WebSocket: %d", status)
		}
		wantTooMany(t, "a request beside it", get("198.51.100.1"))
		if _, status := proxy.handshake(from("198.51.100.1")); status != 429 {
			t.Errorf("a second WebSocket: %d, want 429", status)
		}
		if r := get("198.51.100.2"); r.StatusCode != 200 {
			t.Errorf("another client of the proxy: %d", r.StatusCode)
		}
		if r := tn.at("198.51.100.3").do(call{"GET", "/a.json", from("198.51.100.1"), noBody}); r.StatusCode != 200 {
			t.Errorf("a client that pretends to be a proxy: %d", r.StatusCode)
		}
		ws.Close()
		synctest.Wait()
		if r := get("198.51.100.1"); r.StatusCode != 200 {
			t.Errorf("after the WebSocket has ended: %d", r.StatusCode)
		}
		if _, status := proxy.handshake(from("198.51.100.1")); status != 429 {
			t.Errorf("a WebSocket at once: %d, want 429", status)
		}
		tn.wantRefused(t, metrics.AddressRate, 1)
		time.Sleep(time.Second)
		ws, status = proxy.handshake(from("198.51.100.1"))
		if status != 101 {
			t.Fatalf("a WebSocket a second later: %d", status)
		}
		ws.Close()
		synctest.Wait()
		tn.wantIdle(t)
	})
}

// The machine itself has no bounds unless it is said to have some.
func TestExemptAddresses(t *testing.T) {
	for _, c := range []struct {
		exempt []netip.Prefix
		status int
	}{{nil, 200}, {[]netip.Prefix{}, 429}, {[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, 200}} {
		ts := serveTest(t, Options{Dev: true, Limits: Limits{PerAddress: AddressLimits{RequestRate: 1, RequestBurst: 1, Exempt: c.exempt}}})
		ts.do(call{"GET", "/a.json", nil, noBody})
		if r := ts.do(call{"GET", "/a.json", nil, noBody}); r.StatusCode != c.status {
			t.Errorf("exempt %v: %d, want %d", c.exempt, r.StatusCode, c.status)
		}
	}
}

// Reads of one address wait for each other, and those of others do not wait for
// them.
func TestAddressReadsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townOf(t, Options{Dev: true})
		defer tn.shutdown()
		busy := tn.peers.Acquire(netip.MustParseAddr("198.51.100.1"))
		reads := 0
		for busy.Views.Briefs().Try(1) == nil { // reads that go on and on
			reads++
		}
		var waiting sync.WaitGroup
		for range 20 {
			waiting.Go(func() { tn.at("198.51.100.1").want("GET", "/a.json?timeout=1min", noBody, 200, "null") })
		}
		synctest.Wait()
		began := time.Now()
		for _, addr := range []string{"198.51.100.2", "198.51.100.3"} {
			tn.at(addr).want("GET", "/a.json", noBody, 200, "null")
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("other addresses waited %s", d)
		}
		tn.at("198.51.100.1").want("GET", "/a.json?timeout=1s", noBody, 400, errorBody(textTimeout))
		for range reads {
			busy.Views.Briefs().Release(1)
		}
		waiting.Wait()
		tn.peers.Release(busy)
		synctest.Wait()
		tn.wantIdle(t)
	})
}

// A small value is read whatever long reads of however many addresses are under way. A large
// one waits for them. The tag of a large value is made like it, though it is not sent.
func TestSmallReadsDoNotWaitForLongOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townOf(t, Options{Dev: true})
		defer tn.shutdown()
		tn.at("198.51.100.1").want("PUT", "/large.json?print=silent", `{"a":"`+strings.Repeat("x", 100<<10)+`"}`, 204, "")
		tn.at("198.51.100.1").want("PUT", "/small.json?print=silent", `{"a":1,"b":2}`, 204, "")
		places := 0
		for tn.all.Readers.Try(1) == nil { // long reads that go on and on
			places++
		}
		began := time.Now()
		user := tn.at("198.51.100.2")
		user.want("GET", "/small.json", noBody, 200, `{"a":1,"b":2}`)
		user.want("GET", "/small/a.json", noBody, 200, "1")
		user.want("GET", `/small.json?orderBy="$value"&equalTo=2`, noBody, 200, `{"b":2}`)
		user.want("GET", "/small.json?shallow=true", noBody, 200, `{"a":true,"b":true}`)
		user.want("GET", "/small.json?count=true", noBody, 200, "2")
		if d := time.Since(began); d != 0 {
			t.Errorf("small reads waited %s", d)
		}
		user.want("GET", "/large.json?timeout=1s", noBody, 400, errorBody(textTimeout))
		if r := user.do(call{"GET", "/large.json?timeout=1s", http.Header{"If-None-Match": {"x"}}, noBody}); r.StatusCode != 400 {
			t.Errorf("the tag of a large value was made without a place: %d", r.StatusCode)
		}
		for range places {
			tn.all.Readers.Release(1)
		}
		if r := user.do(call{"GET", "/large.json", nil, noBody}); r.StatusCode != 200 {
			t.Errorf("a large value: status %d", r.StatusCode)
		}
		synctest.Wait()
		tn.wantIdle(t)
	})
}

// Long texts of one address are parsed in its turn. Short ones, and those of other
// addresses, do not wait for them.
func TestAddressTextsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townOf(t, Options{Dev: true})
		defer tn.shutdown()
		busy := tn.peers.Acquire(netip.MustParseAddr("198.51.100.1"))
		texts := 0
		for busy.Readers.Try(1) == nil { // long texts that take long
			texts++
		}
		long := `{"a":"` + strings.Repeat("x", outbox.LongText) + `"}`
		done := make(map[string]int)
		var waiting sync.WaitGroup
		var mu sync.Mutex
		for _, method := range []string{"PUT", "PATCH", "POST"} {
			waiting.Go(func() {
				r := tn.at("198.51.100.1").do(call{method, "/" + method + ".json?print=silent", nil, long})
				mu.Lock()
				defer mu.Unlock()
				done[method] = r.StatusCode
			})
		}
		synctest.Wait()
		if len(done) != 0 {
			t.Errorf("done without a turn: %v", done)
		}
		tn.at("198.51.100.1").want("PUT", "/short.json", "1", 200, "1")
		tn.at("198.51.100.2").want("PUT", "/other.json?print=silent", long, 204, "")
		for range texts {
			busy.Readers.Release(1)
		}
		waiting.Wait()
		for method, status := range done {
			if status/100 != 2 {
				t.Errorf("%s: status %d", method, status)
			}
		}
		tn.peers.Release(busy)
		synctest.Wait()
		tn.wantIdle(t)
	})
}
