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

// TestSlowClientsOnSockets: on real sockets, a client that begins something and does not go
// on is cut off, one that reads nothing too, one that reads slowly is not, and others are
// served meanwhile. It takes as long as the longest limit.
func TestSlowClientsOnSockets(t *testing.T) {
	tier.Need(t, tier.Full)
	t.Parallel()
	o := shortWaits(Options{Dev: true, Limits: Limits{OutboxBytes: 100_000}})
	ts := serveTest(t, o)
	n := &network{ts.Server, t, func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", ts.addr)
	}}
	long := strings.Repeat("x", 8<<20)
	ts.want("PUT", "/long.json?print=silent&ns=test", `{"a":"`+long+`","b":"`+long+`"}`, 204, "") // more than sockets buffer

	done := make(chan error)
	attacks := []struct {
		name  string
		limit time.Duration
		send  string // over a plain connection
	}{
		{"nothing", o.waits.headers, ""},
		{"half a request line", o.waits.headers, "GET /a.js"},
		{"headers without end", o.waits.headers, "GET /a.json HTTP/1.1\r\nHost: localhost\r\nX: y\r\n"},
		{"half a body", o.waits.body, "PUT /a.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer owner\r\nContent-Length: 100\r\n\r\n\"x"},
		{"half a chunk", o.waits.body, "PUT /a.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer owner\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n\"x"},
	}
	for _, a := range attacks {
		began := time.Now()
		conn, err := net.Dial("tcp", ts.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, a.send)
		go func() { done <- cutWithin(conn, a.name, began, a.limit) }()
	}
	ws := n.connect("")
	ws.do("s", `{"c":{}}`)
	sent := time.Now()
	ws.ws.NetConn().Write([]byte("\x81\xfe\x00\xff\x00\x00\x00\x00x")) // a frame of 255 bytes
	go func() { done <- cutWithin(ws.ws.NetConn(), "half a frame", sent, o.waits.message) }()

	slow := n.connect("") // reads 320 KiB a second
	slow.request("q", `{"p":"/long","h":""}`)
	slowRead := make(chan int64, 1)
	go func() {
		_, read := readFor(slow.ws.NetConn(), 32<<10, 100*time.Millisecond, patience, int64(len(long)))
		slowRead <- read
	}()
	deaf := n.connect("") // reads nothing, while others write what it follows
	deaf.ws.NetConn().(*net.TCPConn).SetReadBuffer(4096)
	deaf.do("o", `{"p":"/gone","d":true}`)
	deaf.request("q", `{"p":"/long","h":""}`)
	writer := n.connect("")
	began := time.Now()
	for i := range 20 {
		writer.do("p", fmt.Sprintf(`{"p":"/long/%d","d":%q}`, i, long[:50<<10]))
	}
	if d := time.Since(began); d >= o.waits.write {
		t.Errorf("writes waited %s for a client that does not read", d)
	}
	for range len(attacks) + 1 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	writer.request("q", `{"p":"/gone","h":""}`) // what deaf left is done when it is cut off
	writer.ws.SetReadDeadline(time.Now().Add(patience))
	for event := []byte(nil); !bytes.Contains(event, []byte(`"d":true`)); {
		var err error
		if _, event, err = writer.ws.ReadMessage(); err != nil {
			t.Fatalf("a client that does not read is still connected: %v", err)
		}
	}
	select {
	case n := <-slowRead:
		t.Errorf("one that reads slowly was cut off after %d bytes", n)
	default:
		slow.ws.Close()
		<-slowRead
	}
	for reason, want := range map[metrics.Reason]uint64{metrics.SlowHeaders: 3, metrics.SlowBody: 2, metrics.Silent: 1, metrics.SlowConsumer: 1} {
		ts.wantRefused(t, reason, want)
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
