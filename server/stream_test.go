package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/sync/fault"
)

// A stream is an open event stream.
type stream struct {
	t testing.TB
	net.Conn
	events *bufio.Reader
}

// follow opens an event stream.
func (ts *testServer) follow(target string) *stream {
	ts.t.Helper()
	conn, req := ts.send(call{"GET", target, http.Header{"Accept": {"text/event-stream"}}, ""})
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil || resp.StatusCode != 200 {
		ts.t.Fatalf("GET %s: %v, %v", target, resp, err)
	}
	return &stream{ts.t, conn, bufio.NewReader(resp.Body)}
}

// want reads the next bytes of the stream.
func (s *stream) want(text string) {
	s.t.Helper()
	got := make([]byte, len(text))
	if n, err := io.ReadFull(s.events, got); err != nil || string(got) != text {
		s.t.Fatalf("stream has %q, %v, want %q", got[:n], err, text)
	}
}

func (s *stream) wantEnd() {
	s.t.Helper()
	if rest, err := io.ReadAll(s.events); len(rest) > 0 {
		s.t.Fatalf("stream goes on with %q, %v", rest, err)
	}
}

func TestStream(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	ts.want("PUT", "/a.json", `{"x":["<ü>"],".priority":1}`, 200, `{"x":["<ü>"]}`)
	s := ts.follow("/a.json?print=silent&callback=f")
	defer s.Close()
	s.want("event: put\ndata: {\"path\":\"/\",\"data\":{\"x\":[\"<ü>\"]}}\n\n")
	ts.want("PUT", "/a/y/z.json", "1", 200, "1")
	s.want("event: put\ndata: {\"path\":\"/y/z\",\"data\":1}\n\n")
	ts.want("PATCH", "/a.json", `{"y/z":2}`, 200, `{"y/z":2}`)
	s.want("event: patch\ndata: {\"path\":\"/\",\"data\":{\"y/z\":2}}\n\n")
	ts.want("PUT", "/.settings/rules.json", `{"rules":{}}`, 200, `{"status":"ok"}`)
	s.want("event: cancel\ndata: \"Permission denied\"\n\n")
	s.wantEnd()
}

// A query at a leaf shows nothing, in a stream as in a GET, also if it only orders.
func TestStreamOfLeaf(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	const ordered = `/name.json?orderBy="$key"`
	ts.want("PUT", "/name.json", `"ann"`, 200, `"ann"`)
	ts.want("GET", ordered, "", 200, "null")
	plain, query := ts.follow("/name.json"), ts.follow(ordered)
	defer plain.Close()
	defer query.Close()
	event := func(path, data string) string {
		return "event: put\ndata: {\"path\":\"" + path + "\",\"data\":" + data + "}\n\n"
	}
	plain.want(event("/", `"ann"`))
	query.want(event("/", "null"))
	ts.want("PUT", "/name/first.json", `"Ann"`, 200, `"Ann"`)
	plain.want(event("/first", `"Ann"`))
	query.want(event("/first", `"Ann"`))
	ts.want("PUT", "/name.json", `"bob"`, 200, `"bob"`)
	plain.want(event("/", `"bob"`))
	query.want(event("/", "null"))
	ts.want("PUT", "/name.json", `{"last":"Bo"}`, 200, `{"last":"Bo"}`)
	plain.want(event("/", `{"last":"Bo"}`))
	query.want(event("/", `{"last":"Bo"}`))
}

// readBound is what an answer says of a bound of one read that more memory would raise.
func readBound(bytes int64) string {
	return fmt.Sprintf("one read has at most %d bytes; read parts of it, such as with limitToFirst or limitToLast, or give the server more memory", bytes)
}

// A stream whose value grows above the bound of a read ends with that bound.
func TestEventTooBig(t *testing.T) {
	for _, c := range []struct {
		err  error
		text string
	}{
		{fault.ErrTooBig, textPayloadTooBig},
		{&fault.ReadLimitError{Most: 10_000}, strings.TrimSuffix(textPayloadTooBig, ".") + "; " + readBound(10_000)},
	} {
		want := "event: cancel\ndata: \"" + c.text + "\"\n\n"
		if got := string(eventTooBig(c.err)); got != want {
			t.Errorf("of %v: %q, want %q", c.err, got, want)
		}
	}
}

// What refuses a GET refuses a stream in the same form.
func TestStreamRefusals(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, Limits: Limits{MaxReadBytes: 10_000}})
	long := `"` + strings.Repeat("x", 20_000) + `"`
	ts.want("PUT", "/long.json", long, 200, long)
	ts.want("GET", "/long.json", "", 400, detailedBody(textReadTooBig, readBound(10_000)))
	for _, c := range []struct {
		target, tag string
		status      int
	}{
		{"/a.json?limitToFirst=1", "", 400},
		{"/a.json?shallow=true", "", 400},
		{"/a/.priority.json", "", 400},
		{"/a.b.json", "", 400},
		{"/a.json", "true", 400},
		{"/a.json?auth=garbage", "", 401},
		{"/a.json?ns=a_b", "", 400},
		{"/long.json", "", 400},
	} {
		h := http.Header{"Accept": {"text/html, text/event-stream"}, "X-Firebase-Etag": {c.tag}}
		r := ts.do(call{"GET", c.target, h, ""})
		if r.StatusCode != c.status || r.Header.Get("Content-Type") != typeJSON || !strings.Contains(r.body, `"error"`) {
			t.Errorf("GET %s: %d %s, want %d", c.target, r.StatusCode, r.body, c.status)
		}
	}
}

func TestStreamKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := pipeTest(t, Options{Dev: true})
		defer ts.shutdown()
		s := ts.follow("/a.json")
		defer s.Close()
		s.want("event: put\ndata: {\"path\":\"/\",\"data\":null}\n\n")
		for range 3 {
			began := time.Now()
			s.want("event: keep-alive\ndata: null\n\n")
			if d := time.Since(began); d != keepAlive {
				t.Errorf("keep-alive after %s, want %s", d, keepAlive)
			}
		}
	})
}

// A client that does not read is dropped after a while, and nobody waits for it
// until then.
func TestStreamToDeafClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := pipeTest(t, Options{Dev: true, Limits: Limits{OutboxBytes: 10_000}})
		defer ts.shutdown()
		s := ts.follow("/a.json")
		defer s.Close()
		s.want("event: put\ndata: {\"path\":\"/\",\"data\":null}\n\n")
		began := time.Now()
		long := `"` + strings.Repeat("x", 1000) + `"`
		for range 200 {
			ts.want("PUT", "/a.json", long, 200, long)
			ts.want("PUT", "/a.json", "1", 200, "1")
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("writes waited %s for a client that does not read", d)
		}
		time.Sleep(keepAlive + peer.WriteTimeout)
		synctest.Wait()
		if _, err := s.Write([]byte("x")); err == nil {
			t.Error("the connection is still open")
		}
		if got := ts.metrics.Refused.Of(metrics.SlowConsumer); got != 1 {
			t.Errorf("%d slow consumers are counted, want 1", got)
		}
	})
}

func TestStreamEndsWithItsCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTest(t, Options{Dev: true})
		w := httptest.NewRecorder()
		q := new(request)
		q.init(s, w, httptest.NewRequest("GET", "/a.json", nil))
		if err := q.open(); err != nil {
			t.Fatal(err)
		}
		q.id.credential.Expires = time.Now().Add(time.Hour)
		began := time.Now()
		if _, err := streamValue(q); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != time.Hour {
			t.Errorf("the stream ended after %s, want an hour", d)
		}
		if !strings.HasSuffix(w.Body.String(), "event: auth_revoked\ndata: credential is no longer valid\n\n") {
			t.Errorf("the stream ended with %q", w.Body.Bytes()[max(w.Body.Len()-100, 0):])
		}
	})
}

func TestStreamEndsWithItsServer(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, Limits: Limits{DrainTimeout: patience}})
	s := ts.follow("/a.json")
	defer s.Close()
	if err := ts.shutdown(); err != nil { // as when the drain time is over
		t.Errorf("serve: %v", err)
	}
	s.want("event: put\ndata: {\"path\":\"/\",\"data\":null}\n\n")
	s.wantEnd()
}

// The handler of a stream ends when its client leaves: the connection counts no
// longer.
func TestStreamEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := pipeTest(t, Options{Dev: true, Limits: Limits{MaxConnections: 1}})
		defer ts.shutdown()
		s := ts.follow("/a.json")
		s.Close()
		synctest.Wait()
		ts.want("GET", "/a.json", "", 200, "null")
	})
}

// A body may be slow, but not without end, whoever sends it.
func TestSlowBodies(t *testing.T) {
	const size = 1 << 20
	for _, c := range []struct {
		name   string
		rate   int // bytes a second
		target string
		status int
		after  time.Duration
	}{
		{"steady", 2 * bodyRate, "/a.json", 200, 32 * time.Second},
		{"too slow", bodyRate / 2, "/a.json", 408, 60 * time.Second},
		{"stalling", 0, "/a.json", 408, bodyStall},
		{"refused", 0, "/a.b.json", 400, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ts := pipeTest(t, Options{Dev: true})
				defer ts.shutdown()
				began := time.Now()
				conn, req := ts.send(call{"PUT", c.target, http.Header{"Content-Length": {"1048576"}}, `"`})
				var sender sync.WaitGroup
				defer sender.Wait()
				defer conn.Close()
				sender.Go(func() {
					text := bytes.Repeat([]byte("x"), c.rate)
					for sent := 1; c.rate > 0 && sent < size; sent += len(text) {
						time.Sleep(time.Second)
						if sent+len(text) >= size {
							text = append(text[:size-sent-1], '"')
						}
						if _, err := conn.Write(text); err != nil {
							return
						}
					}
				})
				r := ts.read(newReader(conn), req)
				if d := time.Since(began); r.StatusCode != c.status || (d-c.after).Abs() > 2*time.Second {
					t.Errorf("%d %.100s after %s, want %d after %s", r.StatusCode, r.body, d, c.status, c.after)
				}
				conn.SetDeadline(time.Now().Add(bodyGrace + time.Second))
				if n, err := io.Copy(io.Discard, conn); c.status != 200 && err != nil {
					t.Errorf("the connection stays open: %d bytes, %v", n, err)
				}
			})
		})
	}
}

// A client that was fast may not stall for that, nor pretend to be slow.
func TestBodiesThatSlowDown(t *testing.T) {
	for _, c := range []struct {
		name  string
		every time.Duration // between bytes after the fast part, 0 for none
		after time.Duration
	}{
		{"stalling", 0, bodyStall},
		{"trickling", 10 * time.Second, bodyGrace},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ts := pipeTest(t, Options{Dev: true})
				defer ts.shutdown()
				began := time.Now()
				fast := `"` + strings.Repeat("x", 100*bodyRate)
				conn, req := ts.send(call{"PUT", "/a.json", http.Header{"Content-Length": {"2000000"}}, fast})
				var sender sync.WaitGroup
				defer sender.Wait()
				defer conn.Close()
				sender.Go(func() {
					for err := error(nil); c.every > 0 && err == nil; {
						time.Sleep(c.every)
						_, err = conn.Write([]byte("x"))
					}
				})
				r := ts.read(newReader(conn), req)
				if d := time.Since(began); r.StatusCode != 408 || (d-c.after).Abs() > time.Second {
					t.Errorf("%d %.100s after %s, want 408 after %s", r.StatusCode, r.body, d, c.after)
				}
			})
		})
	}
}

// A request that is under way when the server stops is finished.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := pipeTest(t, Options{Dev: true})
		conn, req := ts.send(call{"PUT", "/a.json", http.Header{"Content-Length": {"5"}}, `"x`})
		defer conn.Close()
		synctest.Wait()
		ts.stop()
		synctest.Wait()
		if _, err := ts.dial(); err == nil {
			t.Error("a connection is accepted after the shutdown began")
		}
		time.Sleep(time.Second)
		go conn.Write([]byte(`yz"`))
		if r := ts.read(newReader(conn), req); r.StatusCode != 200 || r.body != `"xyz"` {
			t.Errorf("the request was answered with %d %s", r.StatusCode, r.body)
		}
		if err := ts.shutdown(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

// A request that does not end does not delay the shutdown for ever.
func TestDrainTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := pipeTest(t, Options{Dev: true})
		conn, _ := ts.send(call{"PUT", "/a.json", http.Header{"Content-Length": {"5"}}, `"x`})
		defer conn.Close()
		synctest.Wait()
		began := time.Now()
		if err := ts.shutdown(); err == nil {
			t.Error("Serve does not say that a request was cut off")
		}
		if d, want := time.Since(began), ts.opts.DrainTimeout+cutGrace; d != want {
			t.Errorf("the shutdown took %s, want %s", d, want)
		}
	})
}
