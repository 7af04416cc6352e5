package realtime

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/server/auth"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/peer"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// A testHost has one database, in which clients may do everything.
type testHost struct{ db *dsync.Database }

func (h testHost) Namespace(*http.Request) (string, error) { return "test", nil }
func (h testHost) Database(string) (*dsync.Database, func(), error) {
	return h.db, func() {}, nil
}
func (h testHost) TokenError(error) *fault.TokenError {
	return &fault.TokenError{Status: wire.StatusInvalidToken}
}
func (h testHost) SignIn(string, dsync.Credential) (SignedIn, error) { return SignedIn{}, nil }
func (h testHost) TooMany(w http.ResponseWriter)                     { w.WriteHeader(http.StatusTooManyRequests) }
func (h testHost) Unavailable(w http.ResponseWriter)                 { w.WriteHeader(http.StatusServiceUnavailable) }

// A testServer serves WebSockets on a real socket.
type testServer struct {
	*Server
	t    testing.TB
	addr string
}

// serveTest serves until the test ends. l is completed with limits that are not reached.
func serveTest(t testing.TB, l Limits) *testServer {
	t.Helper()
	l.MaxMessageBytes = cmp.Or(l.MaxMessageBytes, 16<<20)
	l.OutboxBytes = cmp.Or(l.OutboxBytes, 1<<20)
	parsed, err := rules.Parse(`{"rules":{".read":true,".write":true}}`)
	if err != nil {
		t.Fatal(err)
	}
	db, err := dsync.Open(dsync.Options{Rules: parsed})
	if err != nil {
		t.Fatal(err)
	}
	m, log := metrics.New(), slog.New(slog.DiscardHandler)
	refusals := observe.NewRefusals(&m.Refused, log)
	var bounds peer.Limits
	bounds.SetDefaults()
	peers := peer.NewTable(peer.Options{
		Limits:        bounds,
		All:           peer.NewResources(peer.Totals{Bodies: 1 << 30, Work: 1 << 30, Answers: 1 << 30}),
		HeaderTimeout: time.Minute,
		Refused:       refusals.Add,
	})
	authority, err := auth.New(auth.Options{Dev: true})
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{t: t, Server: New(Options{
		Host: testHost{db}, Limits: l, Peers: peers, Conns: peer.NewConns(peers), Auth: authority,
		Metrics: m, Refusals: refusals, Log: log, Now: time.Now,
	})}
	s.listen(peers)
	t.Cleanup(func() {
		s.Shutdown()
		authority.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// listen accepts connections until the test ends.
func (s *testServer) listen(peers *peer.Table) {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = l.Addr().String()
	h := &http.Server{ConnContext: s.opts.Conns.Begin, ConnState: s.opts.Conns.Changed}
	h.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v peer.Request
		defer v.Leave()
		if err := peers.Enter(&v, r, false); err != nil {
			s.t.Error(err)
		}
		s.serve(w, peer.WithRequest(r, &v))
	})
	go h.Serve(l)
	s.t.Cleanup(func() { h.Shutdown(context.Background()) })
}

// serve answers a WebSocket, at /panic one whose messages are the end of it.
func (s *testServer) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/panic" {
		s.ServeWebSocket(w, r)
		return
	}
	sock := s.accept(w, r, nil)
	sock.receive = func(string) error { panic("defect") }
	sock.start(true)
}

// A client is the other end of a conn.
type client struct {
	t  testing.TB
	ws *websocket.Conn
	c  *conn
}

// dial opens a WebSocket.
func (s *testServer) dial(path string) *client {
	s.t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial("ws://"+s.addr+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { ws.Close() })
	return &client{t: s.t, ws: ws}
}

// connect opens a connection and takes the hello.
func (s *testServer) connect() *client {
	s.t.Helper()
	c := s.dial("/.ws?v=5&ns=test")
	var hello struct {
		D struct{ D struct{ S string } }
	}
	if err := json.Unmarshal([]byte(c.next()), &hello); err != nil {
		s.t.Fatal(err)
	}
	if c.c = s.lookup("test", hello.D.D.S); c.c == nil {
		s.t.Fatal("the hello names no connection")
	}
	return c
}

// next returns the next message, which is one frame.
func (c *client) next() string {
	c.t.Helper()
	c.ws.SetReadDeadline(time.Now().Add(time.Minute))
	_, text, err := c.ws.ReadMessage()
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

func (c *client) want(text string) {
	c.t.Helper()
	if got := c.next(); got != text {
		c.t.Fatalf("got %.300s, want %.300s", got, text)
	}
}

func (c *client) send(text string) {
	c.t.Helper()
	if err := c.ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}
