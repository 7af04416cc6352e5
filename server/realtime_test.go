package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// A network reaches a server, through a real socket or a pipe.
type network struct {
	*Server
	t    *testing.T
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// onSocket serves on a real socket, and checks in the end that no goroutine is
// left.
func onSocket(t *testing.T, o Options) *network {
	t.Helper()
	t.Cleanup(func() { leaktest.Verify(t) })
	ts := serveTest(t, o)
	return &network{ts.Server, t, func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", ts.addr)
	}}
}

// onPipe serves on pipes, for tests that pretend time goes by.
func onPipe(t *testing.T, o Options) *network {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l := &pipeListener{make(chan net.Conn), make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return &network{s, t, l.dial}
}

type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	close(l.closed)
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// A wsClient is a client of the realtime protocol over a WebSocket.
type wsClient struct {
	t  *testing.T
	ws *websocket.Conn
	id string // the session, after hello
	r  int    // the last request
}

// websocket opens a WebSocket at /.ws with a query.
func (n *network) websocket(query string) *wsClient {
	n.t.Helper()
	d := websocket.Dialer{NetDialContext: n.dial}
	ws, _, err := d.Dial("ws://db.localhost/.ws?v=5&ns=test"+query, nil)
	if err != nil {
		n.t.Fatalf("dial %s: %v", query, err)
	}
	n.t.Cleanup(func() { ws.Close() })
	return &wsClient{t: n.t, ws: ws}
}

// connect opens a WebSocket and takes the hello.
func (n *network) connect(query string) *wsClient {
	n.t.Helper()
	c := n.websocket(query)
	c.id = helloID(c.t, c.next())
	return c
}

// helloID checks a hello and returns the id in it.
func helloID(t *testing.T, text string) string {
	t.Helper()
	var m struct {
		T string
		D struct {
			T string
			D struct {
				TS      int64
				V, H, S string
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("hello %s: %v", text, err)
	}
	h := m.D.D
	if m.T != "c" || m.D.T != "h" || h.V != "5" || h.H != "db.localhost" || len(h.S) < 22 {
		t.Fatalf("hello = %s", text)
	}
	if d := time.Since(time.UnixMilli(h.TS)); d < -time.Minute || d > time.Minute {
		t.Errorf("hello is %v old", d)
	}
	return h.S
}

// send sends texts as they are, a frame each.
func (c *wsClient) send(frames ...string) {
	c.t.Helper()
	for _, text := range frames {
		if err := c.ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			c.t.Fatalf("send %.80s: %v", text, err)
		}
	}
}

// request sends a request and returns its id.
func (c *wsClient) request(action, body string) int {
	c.t.Helper()
	c.r++
	c.send(fmt.Sprintf(`{"t":"d","d":{"r":%d,"a":%q,"b":%s}}`, c.r, action, body))
	return c.r
}

// do sends a request, takes its response, and wants it to be ok.
func (c *wsClient) do(action, body string) {
	c.t.Helper()
	r := c.request(action, body)
	if got, want := c.next(), fmt.Sprintf(`{"t":"d","d":{"r":%d,"b":{"s":"ok",`, r); !strings.HasPrefix(got, want) {
		c.t.Fatalf("%s %.100s: %.200s", action, body, got)
	}
}

// next returns the next message, put together from its frames.
func (c *wsClient) next() string {
	c.t.Helper()
	text, err := c.read()
	if err != nil {
		c.t.Fatalf("next message: %v", err)
	}
	return text
}

func (c *wsClient) read() (string, error) {
	var frames wire.Collector
	for {
		c.ws.SetReadDeadline(time.Now().Add(patience))
		_, b, err := c.ws.ReadMessage()
		if err != nil {
			return "", err
		}
		if n := len(utf16.Encode([]rune(string(b)))); n > wire.MaxUnit || n == 0 {
			return "", fmt.Errorf("frame of %d UTF-16 units", n)
		}
		text, done, err := frames.Add(string(b))
		if done || err != nil {
			return text, err
		}
	}
}

func (c *wsClient) want(text string) {
	c.t.Helper()
	if got := c.next(); got != text {
		c.t.Fatalf("got  %.300s\nwant %.300s", got, text)
	}
}

// wantClose reads until the close frame and checks its code.
func (c *wsClient) wantClose(code int) {
	c.t.Helper()
	for {
		text, err := c.read()
		if err == nil {
			c.t.Logf("before the close frame: %.200s", text)
			continue
		}
		var closed *websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != code {
			c.t.Errorf("closed with %v, want code %d", err, code)
		}
		return
	}
}

// value reads the value at a path through a connection of its own.
func (n *network) value(path string) string {
	n.t.Helper()
	c := n.connect("")
	defer c.ws.Close()
	c.send(fmt.Sprintf(`{"t":"d","d":{"r":0,"a":"g","b":{"p":%q,"q":{}}}}`, path))
	got := c.next()
	got = strings.TrimPrefix(got, `{"t":"d","d":{"r":0,"b":{"s":"ok","d":`)
	return strings.TrimSuffix(got, `}}}`)
}

// wantValue waits for a value, since it may be on its way.
func (n *network) wantValue(path, want string) {
	n.t.Helper()
	var got string
	defer func() {
		if got != want {
			n.t.Logf("%s = %s, want %s", path, got, want)
		}
	}()
	waitFor(n.t, path+" to be "+want, func() bool {
		got = n.value(path)
		return got == want
	})
}

const pong = `{"t":"c","d":{"t":"o","d":null}}`

func TestLastSessionEndsFirst(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	old := n.connect("")
	old.do("o", `{"p":"/online","d":false}`)
	old.do("p", `{"p":"/online","d":true}`)

	// Neither of these names the session within its namespace.
	n.connect("&ls=unknown")
	d := websocket.Dialer{NetDialContext: n.dial}
	ws, _, err := d.Dial("ws://db.localhost/.ws?v=5&ns=other&ls="+old.id, nil)
	if err != nil {
		t.Fatal(err)
	}
	ws.Close()
	old.do("s", `{"c":{}}`)

	c := n.connect("&ls=" + old.id)
	c.send(`{"t":"d","d":{"r":1,"a":"g","b":{"p":"/online","q":{}}}}`)
	c.want(`{"t":"d","d":{"r":1,"b":{"s":"ok","d":false}}}`)
	if _, err := old.read(); err == nil {
		t.Error("the old connection still delivers")
	}
}

func TestShutdownTellsClients(t *testing.T) {
	t.Parallel()
	ts := serveTest(t, Options{Dev: true, Limits: Limits{DrainTimeout: patience}})
	n := &network{ts.Server, t, func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", ts.addr)
	}}
	var clients []*wsClient
	for i := range 20 {
		c := n.connect("")
		c.do("o", fmt.Sprintf(`{"p":"/online/%d","d":false}`, i))
		clients = append(clients, c)
	}
	go ts.stop()
	for _, c := range clients {
		c.wantClose(websocket.CloseGoingAway)
	}
	if err := ts.shutdown(); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	ts.wantRefused(t, metrics.Silent, 0)
	if _, _, err := (&websocket.Dialer{NetDialContext: n.dial}).Dial("ws://db.localhost/.ws?ns=test", nil); err == nil {
		t.Error("a new connection was accepted")
	}
}

// TestShutdownTellsPolls: a poll that waits is told to stop asking.
func TestShutdownTellsPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townTest(t, AddressLimits{})
		b := tn.network(t, "198.51.100.1").browser()
		b.start("")
		held := b.hold()
		synctest.Wait()
		tn.stop()
		if r := <-held; !r.closes {
			t.Errorf("the poll was answered with %+v, want a close command", r)
		}
		if err := tn.shutdown(); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
}

func TestTooManyConnections(t *testing.T) {
	n := onSocket(t, Options{Dev: true, Limits: Limits{MaxRealtime: 2, MaxPolls: 1}})
	n.connect("")
	n.browser().start("")
	_, resp, err := (&websocket.Dialer{NetDialContext: n.dial}).Dial("ws://db.localhost/.ws?ns=test", nil)
	if err == nil || resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("third connection: %v, want status 503", err)
	}
	if n.rt.Count() != 2 {
		t.Errorf("%d connections are left, want 2", n.rt.Count())
	}
}

func TestTooManyPolls(t *testing.T) {
	n := onSocket(t, Options{Dev: true, Limits: Limits{MaxRealtime: 3, MaxPolls: 1}})
	n.connect("")
	n.browser().start("")
	if status := n.browser().get("start=t&cb=1&ser=1"); status != http.StatusServiceUnavailable {
		t.Errorf("second poll: status %d, want 503", status)
	}
	if polls := n.metrics.LongPolls.Now(); n.rt.Count() != 2 || polls != 1 {
		t.Errorf("%d connections and %d polls are left, want 2 and 1", n.rt.Count(), polls)
	}
}
