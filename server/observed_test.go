package server

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
)

func TestRequestIDs(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	for _, c := range []struct {
		sent string
		kept bool
	}{
		{"proxy-7.a_B", true},
		{"", false},
		{strings.Repeat("x", observe.MaxRequestID), true},
		{strings.Repeat("x", observe.MaxRequestID+1), false},
		{`a"b`, false},
		{"a b", false},
	} {
		h := http.Header{}
		if c.sent != "" {
			h.Set(observe.HeaderRequestID, c.sent)
		}
		got := ts.do(call{"GET", "/a.json", h, ""}).Header.Get(observe.HeaderRequestID)
		if kept := got == c.sent; kept != c.kept || len(got) < 7 {
			t.Errorf("X-Request-Id: %q was answered with %q", c.sent, got)
		}
	}
	if a, b := ts.record(call{method: "GET", target: "/a.json"}, 200), ts.record(call{method: "GET", target: "/a.json"}, 200); a.Header().Get(observe.HeaderRequestID) == b.Header().Get(observe.HeaderRequestID) {
		t.Error("two requests have the same id")
	}
}

// The log has a line for each request among debug messages, and no credential.
func TestRequestLog(t *testing.T) {
	out := new(console)
	n := onSocket(t, Options{Dev: true, Log: slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	c := n.connect("&auth=hidden")
	c.do("s", `{"c":{}}`)
	ts := &testServer{Server: n.Server, t: t}
	ts.record(call{"PUT", "/a.json?ns=test&auth=hidden", http.Header{observe.HeaderRequestID: {"seven"}}, "1"}, 401)
	ts.record(call{"PUT", "/a.json?ns=test&access_token=owner", http.Header{observe.HeaderRequestID: {"eight"}}, "12"}, 200)
	log := out.String()
	if strings.Contains(log, "hidden") || strings.Contains(log, c.id) {
		t.Errorf("the log has a secret:\n%s", log)
	}
	lines := map[string]map[string]any{}
	for text := range strings.Lines(log) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if id, ok := line["request"].(string); ok {
			lines[line["msg"].(string)+" "+id] = line
		}
	}
	got := lines["request eight"]
	if got["method"] != "PUT" || got["path"] != "/a.json" || got["status"] != 200.0 || got["kind"] != "rest_write" || got["in"] != 2.0 || got["level"] != "DEBUG" {
		t.Errorf("the line of the request is %v", got)
	}
	if lines["request seven"]["status"] != 401.0 {
		t.Errorf("the line of the refused request is %v", lines["request seven"])
	}
	opened := false
	for what, line := range lines {
		opened = opened || strings.HasPrefix(what, "connection opened ") && line["connection"] == "c1"
	}
	if !opened {
		t.Errorf("no line of the connection in\n%s", log)
	}
}

func TestRequestsAreCounted(t *testing.T) { synctest.Test(t, testRequestsAreCounted) }

func testRequestsAreCounted(t *testing.T) {
	n := onPipe(t, Options{Dev: true})
	ts := &testServer{Server: n.Server, t: t}
	ts.record(call{method: "GET", target: "/a.json?ns=test"}, 200)
	ts.record(call{method: "PUT", target: "/a.json?ns=test", body: "1234"}, 200)
	ts.record(call{method: "PUT", target: "/a.b.json?ns=test", body: "1"}, 400)
	ts.record(call{method: "GET", target: "/.settings/rules.json?ns=test"}, 401)
	ts.record(call{method: "GET", target: "/a.json?ns=test&auth=bad"}, 401)
	ts.record(call{method: "GET", target: "/other"}, 404)
	c := n.connect("")
	c.do("p", `{"p":"/a","d":1}`)
	b := n.browser()
	b.start("")
	synctest.Wait() // a handshake is counted when its client has the answer already
	m := n.metrics
	for _, c := range []struct {
		kind   metrics.Kind
		status int
		want   uint64
	}{
		{metrics.RESTRead, 200, 1},
		{metrics.RESTRead, 401, 1},
		{metrics.RESTWrite, 200, 1},
		{metrics.RESTWrite, 400, 1},
		{metrics.Management, 401, 1},
		{metrics.Other, 404, 1},
		{metrics.WebSocket, 101, 1},
		{metrics.LongPoll, 200, 1},
	} {
		if got := m.Requests.Of(c.kind, c.status); got != c.want {
			t.Errorf("%d requests %s with status %d, want %d", got, c.kind, c.status, c.want)
		}
	}
	if got := m.CredentialsRefused.Load(); got != 1 {
		t.Errorf("%d credentials were refused, want 1", got)
	}
	if in, out := m.HTTP.Bytes(); in < 4 || out < 8 {
		t.Errorf("%d bytes in and %d out by HTTP", in, out)
	}
	if in, out := m.Sockets.Bytes(); in < 20 || out < 20 {
		t.Errorf("%d bytes in and %d out by WebSockets", in, out)
	}
	if m.WebSockets.Now() != 1 || m.LongPolls.Now() != 1 {
		t.Errorf("%d WebSockets and %d long polls, want one each", m.WebSockets.Now(), m.LongPolls.Now())
	}
	n.rt.Shutdown()
	if m.WebSockets.Now() != 0 || m.WebSockets.Total() != 1 {
		t.Errorf("after the end: %d WebSockets of %d", m.WebSockets.Now(), m.WebSockets.Total())
	}
}

func TestStreamsAreCounted(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	s := ts.follow("/a.json")
	s.want("event: put\n")
	if n := ts.metrics.EventStreams.Now(); n != 1 {
		t.Errorf("%d event streams, want 1", n)
	}
	s.Close()
	if err := ts.shutdown(); err != nil { // it waits for the stream to end
		t.Fatal(err)
	}
	if m := ts.metrics; m.EventStreams.Now() != 0 || m.EventStreams.Total() != 1 {
		t.Errorf("after the end: %d of %d", m.EventStreams.Now(), m.EventStreams.Total())
	}
}

// Metrics are for administrators of the whole server, and on the listener for
// operations for every client that can reach it.
func TestMetricsDoors(t *testing.T) {
	ts := serveTest(t, Options{Namespaces: []string{"shop"}, AdminSecrets: []string{"sesame"}})
	if _, err := ts.spaces.database("shop"); err != nil {
		t.Fatal(err)
	}
	if r := ts.do(call{"GET", "/metrics", nil, ""}); r.StatusCode != 401 || strings.Contains(r.body, "dogwood_") {
		t.Errorf("without a credential: %d %s", r.StatusCode, r.body)
	}
	r := ts.do(call{"GET", "/metrics", http.Header{"Authorization": {"Bearer sesame"}}, ""})
	if r.StatusCode != 200 || !strings.Contains(r.body, `dogwood_listens{namespace="shop"} 0`) || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("with the secret: %d %v %.300s", r.StatusCode, r.Header, r.body)
	}
	if r := ts.do(call{"GET", "/debug/pprof/", http.Header{"Authorization": {"Bearer sesame"}}, ""}); r.StatusCode != 404 {
		t.Errorf("pprof is on the main listener: %d", r.StatusCode)
	}
	for path, want := range map[string]string{
		"/metrics":                       `dogwood_requests_total{code="401",kind="health"} 1`,
		"/healthz":                       "ok",
		"/readyz":                        "ok",
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/heap?debug=1":      "heap profile",
		"/debug/pprof/goroutine?debug=1": "goroutine profile",
	} {
		got := ts.operations("GET", path)
		if got.Code != 200 || !strings.Contains(got.Body.String(), want) {
			t.Errorf("operations %s: %d %.300s", path, got.Code, got.Body)
		}
	}
	if got := ts.operations("GET", "/shop.json"); got.Code != 404 {
		t.Errorf("operations serve data: %d", got.Code)
	}
}

// TestLinesOfRequestsAreBounded: requests that fail or are slow are logged at a bounded rate,
// since clients can have as many as they like.
func TestLinesOfRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{began: time.Now()}
		for _, c := range []struct {
			name   string
			kind   metrics.Kind
			status int
			took   time.Duration
			lines  int
		}{
			{"failed", metrics.RESTRead, 503, 0, observe.LineBurst},
			{"failed, too", metrics.EventStream, 503, time.Hour, 0},
			{"slow", metrics.RESTRead, 200, 2 * slowRequest, observe.LineBurst},
			{"usual", metrics.RESTRead, 200, slowRequest, 0},
			{"a stream", metrics.EventStream, 200, time.Hour, 0},
		} {
			o, lines := &observed{s: s, kind: c.kind, status: c.status}, 0
			for range 100 {
				if level, _ := o.level(c.took); level >= slog.LevelInfo {
					lines++
				}
			}
			if lines != c.lines {
				t.Errorf("%s: %d lines for 100 requests, want %d", c.name, lines, c.lines)
			}
		}
		time.Sleep(time.Second)
		level, count := (&observed{s: s, status: 500}).level(0)
		if level != slog.LevelInfo || count != 200-observe.LineBurst+1 {
			t.Errorf("the next line has the level %s, and stands for %d requests", level, count)
		}
	})
}
