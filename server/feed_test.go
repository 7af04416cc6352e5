package server

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
)

// nextEvent reads the name and the data of the next event, which is not a
// keep-alive.
func (s *stream) nextEvent() (name string, data map[string]any) {
	s.t.Helper()
	return readFeedEvent(s.t, s.events)
}

func readFeedEvent(t testing.TB, r *bufio.Reader) (name string, data map[string]any) {
	t.Helper()
	var lines [3]string
	for i := range lines {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("event: %v after %q", err, lines)
		}
		lines[i] = strings.TrimSuffix(line, "\n")
	}
	name, okName := strings.CutPrefix(lines[0], "event: ")
	text, okData := strings.CutPrefix(lines[1], "data: ")
	if err := json.Unmarshal([]byte(text), &data); err != nil || !okName || !okData || lines[2] != "" {
		t.Fatalf("event %q: %v", lines, err)
	}
	return name, data
}

// summary returns the members of an operation that are the same in each run.
func summary(data map[string]any) string {
	for _, name := range []string{"timestamp", "millis", "pendingTime"} {
		if _, ok := data[name].(float64); ok {
			data[name] = "#"
		}
	}
	text, _ := json.Marshal(data)
	return string(text)
}

func TestProfile(t *testing.T) {
	t.Cleanup(func() { leaktest.Verify(t) })
	ts := serveTest(t, Options{Dev: true})
	n := &network{ts.Server, t, func(context.Context, string, string) (net.Conn, error) { return ts.dial() }}
	ts.want("PUT", "/.settings/rules.json?ns=test", `{"rules":{"a":{".read":true,".write":true}}}`, 200, `{"status":"ok"}`)
	s := ts.follow("/.settings/profile.json?ns=test&access_token=owner")
	defer s.Close()
	expect := func(wants ...string) {
		t.Helper()
		for _, want := range wants {
			if name, data := s.nextEvent(); name != "log" || summary(data) != want {
				t.Errorf("event %s: %s\nwant log: %s", name, summary(data), want)
			}
		}
	}
	db, err := ts.spaces.database("test")
	if err != nil {
		t.Fatal(err)
	}
	c := n.connect("")
	expect(`{"name":"concurrent-connect","timestamp":"#"}`)
	c.do("p", `{"p":"/a/b","d":"xyz"}`)
	expect(`{"allowed":true,"bytes":5,"millis":"#","name":"realtime-write","path":["a","b"],"pendingTime":"#","timestamp":"#"}`)
	c.request("p", `{"p":"/c","d":1}`)
	c.next()
	expect(`{"allowed":false,"bytes":1,"millis":"#","name":"realtime-write","path":["c"],"pendingTime":"#","timestamp":"#"}`)
	c.request("q", `{"p":"/a","h":"","t":1,"q":{"i":"x/y","sp":1,"ep":1,"l":2,"vf":"l"}}`)
	c.next()
	c.next()
	expect(`{"allowed":true,"bytes":111,"millis":"#","name":"listener-listen","path":["a"],"querySet":[{"equalTo":1,"index":{"path":["x","y"]},"limitToFirst":2,"orderBy":"x/y"}],"timestamp":"#","unIndexed":true}`)
	ts.want("PATCH", "/a.json?ns=test", `{"k":{"x":{"y":1}}}`, 200, `{"k":{"x":{"y":1}}}`)
	expect(`{"bytes":95,"clientsUpdated":1,"millis":"#","name":"listener-broadcast","path":["a"],"timestamp":"#"}`,
		`{"allowed":true,"bytes":13,"millis":"#","name":"rest-update","path":["a"],"pendingTime":"#","timestamp":"#"}`)
	ts.want("GET", `/a/b.json?ns=test&orderBy="$key"`, "", 200, "null")
	expect(`{"allowed":true,"bytes":5,"millis":"#","name":"rest-read","path":["a","b"],"querySet":[{}],"timestamp":"#","unIndexed":false}`)
	c.ws.Close()
	expect(`{"name":"concurrent-disconnect","timestamp":"#"}`)

	s.Close()
	if err := ts.shutdown(); err != nil { // it waits for the profile to end
		t.Error(err)
	}
	if got := db.Stats().Watchers; got != 0 {
		t.Errorf("%d watchers after the profile", got)
	}
}

// Feeds are few, end with the server, and have no body for HEAD.
func TestFeeds(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	var open []*stream
	for range observe.MaxFeeds {
		open = append(open, ts.follow(pathTop+"?access_token=owner"))
	}
	if r := ts.admin("GET", pathProfile, ""); r.StatusCode != 503 || r.Header.Get("Retry-After") == "" {
		t.Errorf("one feed too many: %d %s", r.StatusCode, r.body)
	}
	if got := ts.metrics.Refused.Of(metrics.Profiles); got != 1 {
		t.Errorf("%d refusals are counted, want 1", got)
	}
	if r := ts.admin("HEAD", pathProfile, ""); r.StatusCode != 200 || r.body != "" {
		t.Errorf("HEAD: %d %q", r.StatusCode, r.body)
	}
	ts.stop()
	for _, s := range open {
		if _, err := io.Copy(io.Discard, s.events); err != nil {
			t.Errorf("a feed does not end well: %v", err)
		}
		s.Close()
	}
	if err := ts.shutdown(); err != nil {
		t.Error(err)
	}
}

func TestTop(t *testing.T) {
	n := onSocket(t, Options{Dev: true, Limits: Limits{OutboxBytes: 1 << 20}})
	ts := &testServer{Server: n.Server, t: t}
	c := n.connect("")
	c.request("q", `{"p":"/a","h":""}`)
	c.next()
	c.next()
	view := observe.NewView(n.viewed())
	defer view.Close()
	view.Event()
	for range 10 {
		ts.record(call{"PUT", "/a/b.json?ns=test", http.Header{"Authorization": {"Bearer owner"}}, "1"}, 200)
	}
	ts.record(call{"GET", "/a.json?ns=test", http.Header{"Authorization": {"Bearer owner"}}, ""}, 200)
	got := view.Next()
	if got.Interval <= 0 || got.Databases != 1 || got.Connections.WebSocket != 1 || got.Listens != 1 {
		t.Errorf("top: %+v", got)
	}
	per := func(rate float64) int { return int(rate*got.Interval + 0.5) }
	if r := got.Rates; per(r.Writes) != 10 || per(r.Reads) != 1 || per(r.Requests) != 11 || per(r.Events) != 10 && per(r.Events) != 1 {
		t.Errorf("rates: %+v in %v s", r, got.Interval)
	}
	if got.Commit.Count == 0 || got.Commit.P99 < got.Commit.P50 || got.Write.Count != 10 {
		t.Errorf("commits %+v, writes %+v", got.Commit, got.Write)
	}
	i := slices.IndexFunc(got.Paths, func(p observe.HotPath) bool { return p.Path == "/a/b" })
	if i < 0 || per(got.Paths[i].Writes) != 10 || got.Paths[i].Namespace != "test" {
		t.Errorf("paths: %+v", got.Paths)
	}
}
