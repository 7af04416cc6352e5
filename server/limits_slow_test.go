package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/server/metrics"
)

// shortWaits makes the waits a tenth of those of a server. Tests with a fake clock hold the
// true ones: TestSlowReadersStay, TestSlowBodies, TestStalledMessage,
// TestRefusedAddressIsLogged.
func shortWaits(o Options) Options {
	o.waits.headers, o.waits.write = time.Second, 3*time.Second
	o.waits.body, o.waits.message = 1500*time.Millisecond, 1500*time.Millisecond
	return o
}

// halfRequests are what clients begin over a plain connection and do not go on with.
var halfRequests = []struct {
	name   string
	reason metrics.Reason // for which they are cut off
	send   string
}{
	{"nothing", metrics.SlowHeaders, ""},
	{"half a request line", metrics.SlowHeaders, "GET /a.js"},
	{"headers without end", metrics.SlowHeaders, "GET /a.json HTTP/1.1\r\nHost: localhost\r\nX: y\r\n"},
	{"half a body", metrics.SlowBody, "PUT /a.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer owner\r\nContent-Length: 100\r\n\r\n\"x"},
	{"half a chunk", metrics.SlowBody, "PUT /a.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer owner\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n\"x"},
}

const halfFrame = "\x81\xfe\x00\xff\x00\x00\x00\x00x" // of 255 bytes

// socketsTo serves on sockets with waits that do not end before the test, save those that
// short changes.
func socketsTo(t *testing.T, short func(o *Options)) (*testServer, *network) {
	o := Options{Dev: true, Limits: Limits{OutboxBytes: 100_000}}
	o.waits.headers, o.waits.body, o.waits.message, o.waits.write = time.Hour, time.Hour, time.Hour, time.Hour
	short(&o)
	ts := serveTest(t, o)
	return ts, &network{ts.Server, t, func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", ts.addr)
	}}
}

// sendHalf sends what a client begins.
func sendHalf(t *testing.T, ts *testServer, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", ts.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	io.WriteString(conn, text)
	return conn
}

// TestSlowClientsOnSockets: on real sockets, a client that begins something and does not go
// on is cut off, and so is one that reads nothing. Each server has one limit that is short,
// so that no other client meets it however slow the machine is. TestSlowReadersStay and, on
// sockets, TestWriteDeadline show that slow readers are not cut off.
func TestSlowClientsOnSockets(t *testing.T) {
	tier.Need(t, tier.Full)
	const limit = time.Second
	for reason, short := range map[metrics.Reason]func(o *Options){
		metrics.SlowHeaders: func(o *Options) { o.waits.headers = limit },
		metrics.SlowBody:    func(o *Options) { o.waits.body = limit },
	} {
		t.Run(fmt.Sprint(reason), func(t *testing.T) {
			t.Parallel()
			ts, _ := socketsTo(t, short)
			done := make(chan error)
			cut := 0
			for _, h := range halfRequests {
				if h.reason != reason {
					continue
				}
				cut++
				began := time.Now()
				conn := sendHalf(t, ts, h.send)
				go func() { done <- cutWithin(conn, h.name, began, limit) }()
			}
			for range cut {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			// A client sees the end of its connection before that is counted.
			waitFor(t, "the count of "+fmt.Sprint(reason), func() bool { return ts.metrics.Refused.Of(reason) >= uint64(cut) })
			ts.wantRefused(t, reason, uint64(cut))
		})
	}
	t.Run("half a frame", func(t *testing.T) {
		t.Parallel()
		ts, n := socketsTo(t, func(o *Options) { o.waits.message = limit })
		ws := n.connect("")
		ws.do("s", `{"c":{}}`)
		began := time.Now()
		ws.ws.NetConn().Write([]byte(halfFrame))
		if err := cutWithin(ws.ws.NetConn(), "half a frame", began, limit); err != nil {
			t.Error(err)
		}
		waitFor(t, "the count", func() bool { return ts.metrics.Refused.Of(metrics.Silent) >= 1 })
		ts.wantRefused(t, metrics.Silent, 1)
	})
	t.Run("reads nothing", func(t *testing.T) {
		t.Parallel()
		ts, n := socketsTo(t, func(o *Options) { o.waits.write = 3 * limit })
		began := time.Now()
		deafTo(n, ts)
		other := n.connect("")
		other.request("q", `{"p":"/gone","h":""}`) // what it left is done when it is cut off
		for !strings.Contains(other.next(), `"d":true`) {
		}
		if d := time.Since(began); d < 3*limit {
			t.Errorf("cut off after %s, want %s", d, 3*limit)
		}
		waitFor(t, "the count", func() bool { return ts.metrics.Refused.Of(metrics.SlowConsumer) >= 1 })
		ts.wantRefused(t, metrics.SlowConsumer, 1)
	})
}

// deafTo connects a client that listens to /long, which is more than sockets buffer, and reads
// nothing. When it is cut off, /gone becomes true.
func deafTo(n *network, ts *testServer) (long string) {
	long = strings.Repeat("x", 8<<20)
	ts.want("PUT", "/long.json?print=silent&ns=test", `{"a":"`+long+`","b":"`+long+`"}`, 204, "")
	deaf := n.connect("")
	deaf.ws.NetConn().(*net.TCPConn).SetReadBuffer(4096)
	deaf.do("o", `{"p":"/gone","d":true}`)
	deaf.request("q", `{"p":"/long","h":""}`)
	return long
}

// TestSlowClientsHoldUpNobody: while clients begin something and do not go on, one reads
// nothing, and one reads when it likes, none of whom is cut off here, others are served.
func TestSlowClientsHoldUpNobody(t *testing.T) {
	tier.Need(t, tier.Full)
	t.Parallel()
	ts, n := socketsTo(t, func(*Options) {})
	for _, h := range halfRequests {
		sendHalf(t, ts, h.send)
	}
	ws := n.connect("")
	ws.do("s", `{"c":{}}`)
	ws.ws.NetConn().Write([]byte(halfFrame))
	long := deafTo(n, ts)
	slow := n.connect("")
	slow.request("q", `{"p":"/long","h":""}`)
	some := func(size int64) {
		slow.ws.NetConn().SetReadDeadline(time.Now().Add(patience))
		if _, err := io.CopyN(io.Discard, slow.ws.NetConn(), size); err != nil {
			t.Fatalf("one that reads slowly: %v", err)
		}
	}
	some(32 << 10)
	writer := n.connect("")
	for i := range 20 {
		writer.do("p", fmt.Sprintf(`{"p":"/long/%d","d":%q}`, i, long[:50<<10]))
	}
	some(int64(len(long)))
	for _, reason := range []metrics.Reason{metrics.SlowHeaders, metrics.SlowBody, metrics.Silent, metrics.SlowConsumer} {
		ts.wantRefused(t, reason, 0)
	}
}

// cutWithin reads until the server closes, which it must do some time after the limit,
// since the machine may be busy, and not before.
func cutWithin(conn net.Conn, name string, began time.Time, limit time.Duration) error {
	conn.SetReadDeadline(began.Add(limit + patience))
	_, err := io.Copy(io.Discard, conn)
	switch d := time.Since(began); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%s: still open after %s", name, d)
	case d < limit-limit/10:
		return fmt.Errorf("%s: cut off after %s, want %s", name, d, limit)
	}
	return nil
}

// A body that is compressed too well is refused before it has grown, and one that
// is JSON of the better kind is not.
func TestBodyExpansion(t *testing.T) {
	tier.Unraced(t)
	t.Parallel()
	ts := serveTest(t, Options{Dev: true})
	zip := func(text string) call {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, text)
		z.Close()
		return call{"PUT", "/a.json?print=silent", http.Header{"Content-Encoding": {"gzip"}, "Authorization": {"Bearer owner"}}, b.String()}
	}
	var members strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&members, `"message-%06d":{"text":"hello","read":true,"from":"ana"},`, i)
	}
	good := zip("{" + members.String() + `"last":1}`)
	if r := ts.do(good); r.StatusCode != 204 {
		t.Errorf("5 MiB in %d KiB: %d %.200s", len(good.body)>>10, r.StatusCode, r.body)
	}
	if r := ts.do(zip(`"` + strings.Repeat("x", freeExpansion-2) + `"`)); r.StatusCode != 204 {
		t.Errorf("1 MiB of the same: %d %.200s", r.StatusCode, r.body)
	}
	bomb := zip(`"` + strings.Repeat("x", 9<<20) + `"`)
	if r := ts.do(bomb); r.StatusCode != 413 || r.body != errorBody(errExpansion.text) {
		t.Errorf("9 MiB in %d KiB: %d %.200s, want 413", len(bomb.body)>>10, r.StatusCode, r.body)
	}
	ts.wantRefused(t, metrics.BodyExpansion, 1)
	if used := ts.all.Bodies.Meter().Used(); used != 0 {
		t.Errorf("%d bytes were not given back", used)
	}
}
