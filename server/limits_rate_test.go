package server

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/sync/wire"
)

func TestAddressConnectRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townTest(t, AddressLimits{Connections: 3, ConnectRate: 1})
		defer tn.shutdown()
		ts := tn.at("2001:db8:1:2::1")
		for range 3 {
			if r := ts.do(call{"GET", "/a.json", nil, noBody}); r.StatusCode != 200 {
				t.Errorf("one of a burst: %d", r.StatusCode)
			}
			synctest.Wait()
		}
		neighbour := tn.at("2001:db8:1:2:ffff::1") // the same customer
		wantTooMany(t, "the next", neighbour.do(call{"GET", "/a.json", nil, noBody}))
		tn.wantRefused(t, metrics.AddressRate, 1)
		if r := tn.at("2001:db8:1:3::1").do(call{"GET", "/a.json", nil, noBody}); r.StatusCode != 200 {
			t.Errorf("another customer: %d", r.StatusCode)
		}
		time.Sleep(time.Second)
		if r := ts.do(call{"GET", "/a.json", nil, noBody}); r.StatusCode != 200 {
			t.Errorf("a second later: %d", r.StatusCode)
		}
	})
}

func TestAddressRequestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townTest(t, AddressLimits{RequestRate: 10, RequestBurst: 5})
		defer tn.shutdown()
		ts := tn.at("198.51.100.1")
		for range 5 {
			ts.want("PUT", "/a.json", "1", 200, "1")
		}
		wantTooMany(t, "the sixth", ts.admin("PUT", "/a.json", "2"))
		tn.at("198.51.100.2").want("GET", "/a.json", noBody, 200, "1")
		time.Sleep(100 * time.Millisecond)
		ts.want("GET", "/a.json", noBody, 200, "1")
		tn.wantRefused(t, metrics.AddressRequests, 1)
		used := tn.peers.Acquire(netip.MustParseAddr("198.51.100.1"))
		for _, target := range []string{"/.lp?start=t&cb=1&ser=1&ns=test", "/.ws?ns=test"} {
			peer.Charge(used.Requests, 5)
			if r := ts.do(call{"GET", target, nil, noBody}); r.StatusCode != 429 || r.Header.Get("Retry-After") == "" {
				t.Errorf("%s: %d %v, want 429 with Retry-After", target, r.StatusCode, r.Header)
			}
		}
		tn.peers.Release(used)
		synctest.Wait()
		tn.wantIdle(t)
	})
}

// Beyond the rate of an address, refusals and answers to probes come late: a connection cannot
// ask for many of them.
func TestRefusalsHaveARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townTest(t, AddressLimits{RequestRate: 1, RequestBurst: 1})
		defer tn.shutdown()
		ts := tn.at("198.51.100.1")
		for _, c := range []struct {
			method, target string
			status         int
			after          time.Duration
		}{
			{"GET", "/a.json", 200, 0},
			{"GET", "/a.json", 429, peer.RefusalPause},
			{"OPTIONS", "*", 429, peer.RefusalPause}, // the next request comes after it
			{"GET", pathHealth, 200, 0},
			{"GET", pathReady, 200, peer.RefusalPause}, // though it had none
			{"GET", pathReady, 200, peer.RefusalPause}, // as it had another one
		} {
			began := time.Now()
			r := ts.do(call{c.method, c.target, nil, noBody})
			if d := time.Since(began); r.StatusCode != c.status || d != c.after {
				t.Errorf("%s %s: %d after %s, want %d after %s", c.method, c.target, r.StatusCode, d, c.status, c.after)
			}
		}
		tn.at("198.51.100.2").want("GET", "/a.json", noBody, 200, "null")
	})
}

// A realtime connection that sends too much is read from slowly, and goes on.
func TestMessageRate(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits Limits
		reason metrics.Reason
	}{
		{"of a connection", Limits{MessageRate: 10, MessageBurst: 20}, metrics.SessionRequests},
		{"of an address", Limits{PerAddress: AddressLimits{RequestRate: 10, RequestBurst: 21}}, metrics.AddressRequests}, // the handshake is one, too
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tn := townOf(t, Options{Dev: true, Limits: c.limits})
				defer tn.shutdown()
				fast, other := tn.network(t, "198.51.100.1").connect(""), tn.network(t, "198.51.100.2").connect("")
				began := time.Now()
				for range 50 {
					fast.do("p", `{"p":"/a","d":1}`)
				}
				if d := time.Since(began).Round(time.Millisecond); d != 3*time.Second {
					t.Errorf("50 messages took %s, want 3 s", d)
				}
				if got := tn.metrics.Refused.Of(c.reason); got != 30 {
					t.Errorf("%d messages waited, want 30", got)
				}
				began = time.Now()
				other.do("p", `{"p":"/a","d":1}`)
				if d := time.Since(began); d != 0 {
					t.Errorf("another address waited %s", d)
				}
				fast.request("p", `{"p":"/a","d":1}`) // waits, and ends all the same
				fast.ws.Close()
				other.ws.Close()
				time.Sleep(time.Second)
				synctest.Wait()
				tn.wantIdle(t)
			})
		})
	}
}

// A batch get counts as what it reads.
func TestBatchMessageRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townOf(t, Options{Dev: true, Limits: Limits{MessageRate: 10, MessageBurst: 20}})
		defer tn.shutdown()
		c := tn.network(t, "198.51.100.1").connect("")
		began := time.Now()
		c.do("bg", `{"g":[{"p":"/a"}`+strings.Repeat(`,{"p":"/a"}`, 19)+`]}`)
		c.do("p", `{"p":"/a","d":1}`)
		if d := time.Since(began).Round(time.Millisecond); d != 100*time.Millisecond {
			t.Errorf("what came after 20 reads waited %s, want 100 ms", d)
		}
		c.ws.Close()
	})
}

// A sign-in counts as the listens that are decided again, and as its token is long.
func TestSignInRate(t *testing.T) {
	const listens = 64
	for _, c := range []struct {
		name  string
		token string
		more  int // that it counts as
	}{
		{"many listens", unsigned(`{"sub":"ana"}`), listens / 16},
		{"a long token", unsigned(`{"sub":"ana","x":"` + strings.Repeat("x", 30<<10) + `"}`), listens/16 + 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tn := townOf(t, Options{Dev: true, Limits: Limits{MessageRate: 10, MessageBurst: listens + 1}})
				defer tn.shutdown()
				n := tn.network(t, "198.51.100.1").connect("")
				for i := range listens {
					n.request("q", fmt.Sprintf(`{"p":"/l/%d","h":""}`, i))
					n.next()
					n.next()
				}
				began := time.Now()
				n.do("auth", `{"cred":"`+c.token+`"}`)
				n.do("p", `{"p":"/a","d":1}`)
				if d, want := time.Since(began).Round(time.Millisecond), time.Duration(c.more+1)*100*time.Millisecond; d != want {
					t.Errorf("what came after it waited %s, want %s", d, want)
				}
				n.ws.Close()
			})
		})
	}
}

// Long tokens count as several requests over REST, too, also if they are refused.
func TestTokenRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townTest(t, AddressLimits{RequestRate: 1, RequestBurst: 20})
		defer tn.shutdown()
		ts := tn.at("198.51.100.1")
		long := strings.Repeat("x", 60<<10)
		if r := ts.do(call{"GET", "/a.json?auth=" + long, nil, noBody}); r.StatusCode != 401 {
			t.Errorf("a long token: %d", r.StatusCode)
		}
		for i := range 5 {
			r := ts.do(call{"GET", "/a.json", nil, noBody})
			if over := r.StatusCode == 429; over != (i == 4) {
				t.Errorf("request %d after it: %d", i+1, r.StatusCode)
			}
		}
	})
}

// Pings cost something, too.
func TestPingRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townOf(t, Options{Dev: true, Limits: Limits{MessageRate: 10, MessageBurst: 10}})
		defer tn.shutdown()
		c := tn.network(t, "198.51.100.1").connect("")
		c.ws.SetPongHandler(func(string) error { return nil })
		c.ws.SetReadDeadline(time.Time{})
		go c.ws.ReadMessage()
		began := time.Now()
		for range 30 {
			if err := c.ws.WriteControl(websocket.PingMessage, nil, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d < time.Second {
			t.Errorf("30 pings were taken in %s", d)
		}
		c.ws.Close()
	})
}

// Frames that are no messages cost something, too. Large messages count once.
func TestFrameRate(t *testing.T) {
	piece := strings.Repeat("x", wire.MaxUnit)
	whole := `{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a","d":"` + strings.Repeat("x", 7*wire.MaxUnit) + `"}}}`
	split, err := wire.AppendFrames(nil, []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		kind   int
		frames []string
		waits  int // of what is beyond the burst
	}{
		{"keep-alives", websocket.TextMessage, slices.Repeat([]string{"0"}, 30), 20},
		{"answers to pings", websocket.PongMessage, slices.Repeat([]string{""}, 30), 20},
		{"long answers to pings", websocket.PongMessage, slices.Repeat([]string{"payload"}, 30), 20},
		{"short pieces", websocket.TextMessage, append([]string{"100"}, slices.Repeat([]string{"x"}, 30)...), 21},
		{"empty pieces", websocket.TextMessage, append([]string{"100"}, slices.Repeat([]string{""}, 30)...), 21},
		{"pieces", websocket.TextMessage, append([]string{"100"}, slices.Repeat([]string{piece}, 30)...), 0},
		{"messages in pieces", websocket.TextMessage, slices.Repeat(texts(split), 10), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tn := townOf(t, Options{Dev: true, Limits: Limits{MessageRate: 10, MessageBurst: 10}})
				defer tn.shutdown()
				ws := tn.network(t, "198.51.100.1").connect("").ws
				ws.SetReadDeadline(time.Time{})
				go func() {
					for _, _, err := ws.ReadMessage(); err == nil; _, _, err = ws.ReadMessage() {
					}
				}()
				began := time.Now()
				for _, text := range c.frames {
					if err := ws.WriteMessage(c.kind, []byte(text)); err != nil {
						t.Fatal(err)
					}
				}
				ws.WriteControl(websocket.CloseMessage, nil, time.Time{}) // taken when all others were
				if d, want := time.Since(began).Round(time.Millisecond), time.Duration(c.waits)*100*time.Millisecond; d != want {
					t.Errorf("%d frames took %s, want %s", len(c.frames), d, want)
				}
				if got := tn.metrics.Refused.Of(metrics.SessionRequests); got != uint64(c.waits) {
					t.Errorf("%d waited, want %d", got, c.waits)
				}
				ws.Close()
			})
		})
	}
}

func texts(frames [][]byte) []string {
	all := make([]string, len(frames))
	for i, f := range frames {
		all[i] = string(f)
	}
	return all
}

// Answers to pings that are read ahead of the library count as well.
func TestPongRateOnSockets(t *testing.T) {
	n := onSocket(t, Options{Dev: true, Limits: Limits{MessageRate: 1, MessageBurst: 1, PerAddress: AddressLimits{Exempt: []netip.Prefix{}}}})
	c := n.connect("")
	for range 3 {
		if err := c.ws.WriteControl(websocket.PongMessage, nil, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "a pong that waits", func() bool { return n.Server.metrics.Refused.Of(metrics.SessionRequests) > 0 })
	c.ws.Close()
}

// Short frames in the middle of a message count, however little they bring: a client could
// otherwise send their headers without end. Long ones and the last one do not.
func TestFragmentRate(t *testing.T) {
	const frames = 30
	const text, goesOn, final = 1, 0, 1 << 7
	frame := func(first byte, payload string) []byte {
		b := []byte{first, 1<<7 | 126}
		b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
		return append(append(b, 0, 0, 0, 0), payload...)
	}
	for _, c := range []struct {
		name, payload string
		waits         int // of what is beyond the burst
	}{
		{"empty", "", 21},
		{"short", " ", 21},
		{"long", strings.Repeat(" ", 4000), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tn := townOf(t, Options{Dev: true, Limits: Limits{MessageRate: 10, MessageBurst: 10}})
				defer tn.shutdown()
				n := tn.network(t, "198.51.100.1").connect("")
				sent := frame(text, "")
				for range frames {
					sent = append(sent, frame(goesOn, c.payload)...)
				}
				sent = append(sent, frame(final|goesOn, `{"t":"c","d":{"t":"p","d":{}}}`)...)
				began := time.Now()
				if _, err := n.ws.NetConn().Write(sent); err != nil {
					t.Fatal(err)
				}
				n.next()
				if d, want := time.Since(began).Round(time.Millisecond), time.Duration(c.waits)*100*time.Millisecond; d != want {
					t.Errorf("%d frames took %s, want %s", frames, d, want)
				}
				n.ws.Close()
			})
		})
	}
}
