package server

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/outbox"
)

// wantNotice reads a notice and returns its revision.
func (s *stream) wantNotice(all bool, children ...string) float64 {
	s.t.Helper()
	name, data := s.nextEvent()
	var keys []string
	list, _ := data["children"].([]any)
	for _, key := range list {
		keys = append(keys, key.(string))
	}
	if name != "notify" || data["all"] != all || !reflect.DeepEqual(keys, children) || len(data) != 3 {
		s.t.Fatalf("%s %v, want children %q, all %t", name, data, children, all)
	}
	return data["revision"].(float64)
}

// TestStreamNotices: a stream with notify is told which children change, at most five times a second,
// and no value.
func TestStreamNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := pipeTest(t, Options{Dev: true})
		defer ts.shutdown()
		ts.want("PUT", "/rooms.json", `{"a":{"x":1},"b":1}`, 200, `{"a":{"x":1},"b":1}`)
		s := ts.follow("/rooms.json?notify=true")
		defer s.Close()
		last := ts.follow(`/rooms.json?orderBy="$key"&limitToLast=1&notify=true`)
		defer last.Close()
		s.want("event: keep-alive\ndata: null\n\n")
		last.want("event: keep-alive\ndata: null\n\n")
		put := func(path, body string) {
			t.Helper()
			if r := ts.do(call{"PUT", path, nil, body}); r.StatusCode != http.StatusOK {
				t.Fatalf("PUT %s: %d %s", path, r.StatusCode, r.body)
			}
		}
		began := time.Now()
		put("/rooms/a/x.json", "2")
		first := s.wantNotice(false, "a")
		if took := time.Since(began); took != 0 {
			t.Errorf("the first notice took %s", took)
		}
		put("/rooms/b.json", "2")
		synctest.Wait()
		put("/rooms/a/y/z.json", "1")
		put("/rooms/b.json", "3")
		put("/elsewhere.json", "3")
		second := s.wantNotice(false, "b", "a")
		if took := time.Since(began); took != outbox.NoticeEvery || second <= first {
			t.Errorf("the second notice, of revision %v after %v, took %s, want %s", second, first, took, outbox.NoticeEvery)
		}
		last.wantNotice(false, "b")
		last.wantNotice(false, "b")
		put("/rooms/a/.priority.json", "1")
		s.wantNotice(false, "a")
		put("/rooms/.priority.json", "1") // event streams do not show it
		ts.want("PATCH", "/.json", `{"elsewhere":1,"rooms/a/x":null,"rooms/c":1}`, 200, `{"elsewhere":1,"rooms/a/x":null,"rooms/c":1}`)
		s.wantNotice(false, "c", "a")
		last.wantNotice(false, "b", "c")
		many := make(map[string]int)
		for i := range 101 {
			many[fmt.Sprint("k", i)] = i
		}
		text, _ := json.Marshal(many)
		ts.want("PATCH", "/rooms.json?print=silent", string(text), 204, "")
		s.wantNotice(true)
		last.wantNotice(false, "c", "k99")
		put("/rooms.json", `{"a":1}`)
		s.wantNotice(true)
		ts.want("PUT", "/.settings/rules.json", `{"rules":{}}`, 200, `{"status":"ok"}`)
		s.want("event: cancel\ndata: \"Permission denied\"\n\n")
		s.wantEnd()
	})
}

// Notices need an event stream, and are another thing than changes.
func TestNotifyRefusals(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	events := http.Header{"Accept": {"text/event-stream"}}
	for _, c := range []struct {
		target string
		header http.Header
	}{
		{"/a.json?notify=true", nil}, {"/a.json?notify=yes", events}, {"/a.json?notify=true&changes=true", events},
		{"/a.json?notify=true&shallow=true", events}, {"/a.json?notify=true&readable=true", events}, {"/a.json?notify=true&children=true", events},
	} {
		if r := ts.do(call{"GET", c.target, c.header, ""}); r.StatusCode != 400 || !strings.Contains(r.body, `"error"`) {
			t.Errorf("GET %s: %d %s, want 400", c.target, r.StatusCode, r.body)
		}
	}
}

// TestNoticesModel: a client that reads again what notices name has what is stored, however slow it
// is, also after the rules have changed.
func TestNoticesModel(t *testing.T) {
	for seed := range uint64(tier.Pick(6, 30, 1000)) {
		synctest.Test(t, func(t *testing.T) { noticesModel(t, rand.New(rand.NewPCG(seed, 1)), seed%2 == 0) })
	}
}

// noticesOf follows /n as an event stream or over a socket. next returns the next notice; again ends the
// connection, and opens another one, whose first notice is of what was missed.
func noticesOf(t *testing.T, ts *testServer, socket bool) (next func() map[string]any, again, end func()) {
	if socket {
		n := ts.network(t)
		c := n.connect("")
		c.do("nt", `{"p":"/n","t":1,"chg":1}`)
		var missed map[string]any
		return func() map[string]any {
				d := missed
				if missed = nil; d == nil {
					d = c.notice(1)
				}
				return d
			}, func() {
				c.ws.Close()
				c = n.connect("")
				c.request("nt", `{"p":"/n","t":1}`)
				missed = c.notice(1)
				c.want(`{"t":"d","d":{"r":1,"b":{"s":"ok","d":{}}}}`)
			}, func() { c.ws.Close() }
	}
	s := ts.follow("/n.json?ns=test&notify=true")
	s.want("event: keep-alive\ndata: null\n\n")
	return func() map[string]any {
			_, data := s.nextEvent()
			return data
		}, func() {
			s.Close()
			s = ts.resumed("/n.json?ns=test&notify=true", "x", nil)
		}, func() { s.Close() }
}

func noticesModel(t *testing.T, r *rand.Rand, socket bool) {
	ts := pipeTest(t, Options{Dev: true})
	defer ts.shutdown()
	next, again, end := noticesOf(t, ts, socket)
	defer end()
	read := func(path string) (v any) {
		t.Helper()
		resp := ts.do(call{"GET", path, nil, ""})
		if err := json.Unmarshal([]byte(resp.body), &v); err != nil {
			t.Fatalf("GET %s: %v %s", path, err, resp.body)
		}
		return v
	}
	have := map[string]any{}
	settle := func() {
		ts.do(call{"PUT", "/n/last.json?ns=test", nil, fmt.Sprint(r.Int64())}) // so that there is a notice
		page := read("/n.json?ns=test&children=true&limitToFirst=1").(map[string]any)
		for known := 0.0; known < page["revision"].(float64); {
			data := next()
			known = data["revision"].(float64)
			if data["all"] == true {
				have, _ = read("/n.json?ns=test").(map[string]any)
			}
			for _, key := range data["children"].([]any) {
				have[key.(string)] = read("/n/" + key.(string) + ".json?ns=test")
				if have[key.(string)] == nil {
					delete(have, key.(string))
				}
			}
		}
	}
	for range 20 {
		for range r.IntN(12) {
			key := fmt.Sprint("k", r.IntN(300))
			switch r.IntN(12) {
			case 0:
				ts.do(call{"PUT", "/n.json?ns=test", nil, `{"` + key + `":1}`})
			case 1:
				ts.do(call{"PATCH", "/.json?ns=test", nil, `{"n/` + key + `/a":1,"n/k1":null}`})
			case 2:
				ts.do(call{"PUT", "/.settings/rules.json?ns=test", nil, fmt.Sprintf(`{"rules":{".read":"now > %d",".write":true}}`, r.IntN(1000))})
			case 3:
				ts.do(call{"DELETE", "/n/" + key + ".json?ns=test", nil, ""})
			case 4:
				again()
			default:
				ts.do(call{"PUT", "/n/" + key + "/b.json?ns=test", nil, fmt.Sprint(r.IntN(100))})
			}
		}
		settle()
		if stored, _ := read("/n.json?ns=test").(map[string]any); !reflect.DeepEqual(have, stored) {
			t.Fatalf("the client has %v, stored is %v", have, stored)
		}
	}
}
