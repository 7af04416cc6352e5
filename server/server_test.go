package server

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// A testServer is a server with a way to reach it.
type testServer struct {
	*Server
	t    testing.TB
	addr string
	dial func() (net.Conn, error)
	stop context.CancelFunc
	done chan error // what Serve returned
}

// patience is how long a test waits for what must come, however busy the machine is.
const patience = 5 * time.Minute

// waitFor waits until something that tells of itself in no other way is so.
func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s", patience, what)
		}
	}
}

// serveTest serves on a real socket until the test ends.
func serveTest(t testing.TB, o Options) *testServer {
	t.Helper()
	ts := serveSocket(t, o)
	t.Cleanup(func() {
		if err := ts.shutdown(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return ts
}

// serveSocket serves on a real socket, until shutdown.
func serveSocket(t testing.TB, o Options) *testServer {
	t.Helper()
	if tier.Logged() && o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.grace = patience
	ts := &testServer{Server: s, t: t, addr: l.Addr().String()}
	ts.dial = func() (net.Conn, error) { return net.Dial("tcp", ts.addr) }
	ts.serve(l)
	return ts
}

// pipeTest serves on pipes, inside of a synctest bubble, until shutdown.
func pipeTest(t testing.TB, o Options) *testServer {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l := &pipeListener{make(chan net.Conn), make(chan struct{})}
	ts := &testServer{Server: s, t: t}
	ts.dial = func() (net.Conn, error) { return l.dial(context.Background(), "", "") }
	ts.serve(l)
	return ts
}

func (ts *testServer) serve(l net.Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	ts.stop, ts.done = cancel, make(chan error, 1)
	go func() {
		ts.done <- ts.Serve(ctx, l)
		close(ts.done)
	}()
}

// shutdown stops the server and waits for it. The first call returns what
// Serve returned.
func (ts *testServer) shutdown() error {
	ts.stop()
	return <-ts.done
}

// A call is an HTTP request as it goes over the wire: nothing in it is escaped
// or corrected on the way.
type call struct {
	method, target string
	header         http.Header
	body           string
}

// A result is a response with its body, decompressed.
type result struct {
	*http.Response
	body string
}

// send writes the call's bytes to a new connection.
func (ts *testServer) send(c call) (net.Conn, *http.Request) {
	ts.t.Helper()
	conn := ts.open()
	go conn.Write(c.text()) // a server that refuses early need not read it all
	return conn, &http.Request{Method: c.method}
}

// open opens a connection.
func (ts *testServer) open() net.Conn {
	ts.t.Helper()
	conn, err := ts.dial()
	if err != nil {
		ts.t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(10 * time.Minute))
	return conn
}

// text returns the call's bytes.
func (c call) text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", c.method, c.target)
	h := c.header.Clone()
	if h == nil {
		h = http.Header{}
	}
	if h.Get("Host") == "" {
		h.Set("Host", "localhost")
	}
	if c.body != "" && h.Get("Transfer-Encoding") == "" && h.Get("Content-Length") == "" {
		h.Set("Content-Length", fmt.Sprint(len(c.body)))
	}
	h.Write(&b)
	b.WriteString("\r\n" + c.body)
	return b.Bytes()
}

// do makes a call and returns its result.
func (ts *testServer) do(c call) result {
	ts.t.Helper()
	conn, req := ts.send(c)
	defer conn.Close()
	return ts.read(bufio.NewReader(conn), req)
}

func (ts *testServer) read(r *bufio.Reader, req *http.Request) result {
	ts.t.Helper()
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		ts.t.Fatalf("read response: %v", err)
	}
	defer resp.Body.Close()
	src := io.Reader(resp.Body)
	if resp.Header.Get("Content-Encoding") == "gzip" {
		if src, err = gzip.NewReader(src); err != nil {
			ts.t.Fatal(err)
		}
	}
	body, err := io.ReadAll(src)
	if err != nil {
		ts.t.Fatalf("read body: %v", err)
	}
	return result{resp, string(body)}
}

// admin makes a call with an administrator's credential.
func (ts *testServer) admin(method, target, body string) result {
	ts.t.Helper()
	return ts.do(call{method, target, http.Header{"Authorization": {"Bearer owner"}}, body})
}

// want makes an administrator's call and checks its result.
func (ts *testServer) want(method, target, body string, status int, answer string) {
	ts.t.Helper()
	if r := ts.admin(method, target, body); r.StatusCode != status || r.body != answer {
		ts.t.Errorf("%s %.80s %.80s: %d %.200s, want %d %s", method, target, body, r.StatusCode, r.body, status, answer)
	}
}

// errorBody is an error as clients see it.
func errorBody(text string) string {
	return "{\n  \"error\" : \"" + strings.ReplaceAll(text, `"`, `\"`) + "\"\n}\n"
}

// detailedBody is errorBody with a detail.
func detailedBody(text, detail string) string {
	return strings.TrimSuffix(errorBody(text), "\n}\n") + ",\n  \"detail\" : \"" + strings.ReplaceAll(detail, `"`, `\"`) + "\"\n}\n"
}

// localRequest is httptest.NewRequest for the host that a development server has.
func localRequest(method, target string, body io.Reader) *http.Request {
	r := httptest.NewRequest(method, target, body)
	r.Host = "localhost"
	return r
}

// record makes a call without a socket.
func (ts *testServer) record(c call, status int) *httptest.ResponseRecorder {
	ts.t.Helper()
	r := localRequest(c.method, c.target, strings.NewReader(c.body))
	for name, values := range c.header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	ts.ServeHTTP(w, r)
	if w.Code != status {
		ts.t.Errorf("%s %s: %d %s, want %d", c.method, c.target, w.Code, w.Body, status)
	}
	return w
}

func textLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
