package peer

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
)

// The end of a head is found in whatever pieces it comes, and nothing behind it is taken.
func TestHeadEnds(t *testing.T) {
	for _, c := range []struct {
		head          string
		lines, params int64
	}{
		{"GET / HTTP/1.1\r\n\r\n", 1, 0},
		{"GET /?a&b&c HTTP/1.1\nA: x&y\n\n", 2, 2},
		{"\r\n\r\nGET / HTTP/1.1\r\nA: b\r\n  c\r\n\r\n", 3, 0}, // after the body of an old client
		{"GET / HTTP/1.1\r\nA: b\r\n\r\r\n \r\n\r\n", 4, 0},     // which net/http refuses
	} {
		text := c.head + "\n\nGET / HTTP/1.1\r\n\r\n"
		for size := 1; size <= len(text); size++ {
			var h head
			n := 0
			for piece := range slices.Chunk([]byte(text), size) {
				n += h.take(piece)
			}
			if n != len(c.head) || !h.ended || h.lines != c.lines || h.params != c.params || h.size != int64(n) {
				t.Errorf("%q in pieces of %d: %+v of %d bytes", c.head, size, h, n)
			}
		}
	}
}

// servedTest is a server on a real socket whose clients are not exempt.
type servedTest struct {
	*Conns
	t    *testing.T
	addr string
}

// serveConns serves with a bound of memory for all clients together.
func serveConns(t *testing.T, bodies int64, handler http.HandlerFunc) *servedTest {
	t.Helper()
	return serveLimits(t, testLimits, bodies, handler)
}

func serveLimits(t *testing.T, l Limits, bodies int64, handler http.HandlerFunc) *servedTest {
	t.Helper()
	o := Options{Limits: l, All: NewResources(Totals{Bodies: bodies, Work: 1 << 20, Answers: 1 << 20}), HeaderTimeout: time.Minute, Refused: func(metrics.Reason, string) {}}
	o.Exempt = []netip.Prefix{}
	o.SetDefaults()
	s := &servedTest{Conns: NewConns(NewTable(o)), t: t}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = socket.Addr().String()
	h := &http.Server{ConnContext: s.Begin, ConnState: s.Changed, MaxHeaderBytes: 192 << 10}
	h.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v Request
		defer v.Leave()
		if err := s.table.Enter(&v, r, false); err != nil {
			t.Error(err)
		}
		handler(w, WithRequest(r, &v))
	})
	go h.Serve(s.Listen(socket, nil))
	t.Cleanup(func() { h.Close() })
	return s
}

// send sends text on a connection of its own.
func (s *servedTest) send(text string) net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, text); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// waitUsed waits until what all clients hold is as it should be.
func (s *servedTest) waitUsed(what string, ok func(used int64) bool) {
	s.t.Helper()
	m := s.table.options.All.Bodies.Meter()
	for end := time.Now().Add(time.Minute); !ok(m.Used()); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: %d bytes are held", what, m.Used())
		}
	}
}

func isZero(n int64) bool { return n == 0 }

// statusOf reads an answer to its end and returns its status.
func statusOf(t *testing.T, c net.Conn) string {
	t.Helper()
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Error(err)
	}
	status, _, _ := strings.Cut(strings.TrimPrefix(string(answer), "HTTP/1.1 "), " ")
	return status
}

const longHeader = 20_000

// fatHead is a head without its end.
var fatHead = "GET / HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", longHeader) + "\r\n"

// A head counts while it arrives and until its request is done; headers that are shed do not.
func TestHeadsAreCounted(t *testing.T) {
	shed, end := make(chan bool), make(chan bool)
	s := serveConns(t, 1<<20, func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header.Get("A")) != longHeader {
			t.Errorf("a header of %d bytes came as one of %d", longHeader, len(r.Header.Get("A")))
		}
		<-shed
		RequestOf(r).Shed()
		if len(r.Header) != 0 {
			t.Errorf("there are still headers: %d", len(r.Header))
		}
		<-end
	})
	isCounted := func(used int64) bool { return used >= HeadByteCost*longHeader }
	half := s.send(fatHead)
	s.waitUsed("half of a head", isCounted)
	half.Close()
	s.waitUsed("half of a head whose client has left", isZero)
	c := s.send(fatHead + "\r\n")
	for range 2 { // on the same connection, too
		s.waitUsed("a request", isCounted)
		shed <- true
		s.waitUsed("a request without its headers", isZero)
		end <- true
		io.WriteString(c, fatHead+"\r\n")
	}
}

// TestHeadsBehindProxy: a head counts for its own client, and not for that of the request before
// it on the connection of the proxy.
func TestHeadsBehindProxy(t *testing.T) {
	l := testLimits
	l.TrustedProxies = Loopback()
	s := serveLimits(t, l, 1<<20, func(http.ResponseWriter, *http.Request) {})
	c := s.send(fatHead + "X-Forwarded-For: 198.51.100.1\r\n\r\n")
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("a first request: %v, %v", r, err)
	}
	first := s.table.Acquire(netip.MustParseAddr("198.51.100.1"))
	defer s.table.Release(first)
	all := first.Bodies.Most()
	first.Bodies.Force(all)
	defer first.Bodies.Release(all)
	io.WriteString(c, fatHead+"X-Forwarded-For: 198.51.100.2\r\nConnection: close\r\n\r\n")
	if got := statusOf(t, c); got != "200" {
		t.Errorf("a request of another client: %s, want 200", got)
	}
}

// Heads of usual size take nothing of the meter: the bound of connections is for them.
func TestUsualHeadsAreFree(t *testing.T) {
	s := serveConns(t, 0, func(w http.ResponseWriter, r *http.Request) {})
	usual := "GET /?" + strings.Repeat("x", 1900) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + strings.Repeat("Header: value\r\n", 10)
	if got := statusOf(t, s.send(usual+"\r\n")); got != "200" {
		t.Errorf("a usual request: %s", got)
	}
	if got := statusOf(t, s.send(fatHead)); got != "503" {
		t.Errorf("a head for which there is no room: %s, want 503", got)
	}
	s.waitUsed("after a refusal", isZero)
}

// However many lines a head has, and wherever they are read, no more than MaxHeadLines of
// them are parsed.
func TestHeadLinesAreBounded(t *testing.T) {
	bodies := make(chan string, 10)
	s := serveConns(t, 1<<20, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	})
	lines := func(n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "a%d:\r\n", i)
		}
		return text.String()
	}
	const first, last = "PUT / HTTP/1.1\r\nHost: x\r\n", "Connection: close\r\n"
	chunked := first + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
	sized := first + "Content-Length: 200\r\n\r\n" + strings.Repeat("ok\r\n", 50)
	for _, c := range []struct {
		name, text string
		refused    int
	}{
		{"as many as are allowed", first + last + lines(MaxHeadLines-3) + "\r\n", 0},
		{"one more", first + last + lines(MaxHeadLines-2) + "\r\n", 1},
		{"far too many, without an end", first + lines(20_000), 1},
		{"in the second request", first + "\r\n" + first + lines(MaxHeadLines), 1},
		{"behind a body", sized + first + lines(MaxHeadLines), 1},
		{"behind chunks", chunked + first + lines(2*MaxHeadLines), 1},
	} {
		conn := s.send("")
		go io.WriteString(conn, c.text) // the server may not read all of it
		answers, _ := io.ReadAll(conn)
		if refused := strings.Count(string(answers), "HTTP/1.1 431"); refused != c.refused {
			t.Errorf("%s: refused %d times, want %d: %.60q", c.name, refused, c.refused, answers)
		}
	}
	close(bodies)
	for body := range bodies {
		if body != "" && body != "ok" && body != strings.Repeat("ok\r\n", 50) {
			t.Errorf("a body came as %q", body)
		}
	}
}

// TestReadAheadAfterAbort: net/http tells that a connection is closed while its own reader may
// still read, if a handler aborts. The memory of the bytes that were read ahead stays with that
// reader, and no other connection gets it.
func TestReadAheadAfterAbort(t *testing.T) {
	s := serveConns(t, 1<<20, nil)
	end, other := net.Pipe()
	other.Close()
	c := &conn{Conn: end, table: s.table}
	s.Begin(t.Context(), c)
	c.keepAhead([]byte("GET /next"))
	s.Changed(c, http.StateClosed)
	got := make([]byte, 100)
	if n, err := c.fetch(got); string(got[:n]) != "GET /next" || err != nil {
		t.Errorf("read %q, %v", got[:n], err)
	}
}
