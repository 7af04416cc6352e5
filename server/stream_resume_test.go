package server

import (
	"bufio"
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A blockOf is an event of a stream.
type blockOf struct{ name, data, id string }

func (b blockOf) String() string { return b.name + " " + b.data }

// resumed opens an event stream as a client that has the event with an id.
func (ts *testServer) resumed(target, id string, h http.Header) *stream {
	ts.t.Helper()
	h = h.Clone()
	if h == nil {
		h = make(http.Header)
	}
	h.Set("Accept", "text/event-stream")
	if id != "" {
		h.Set("Last-Event-ID", id)
	}
	conn, req := ts.send(call{"GET", target, h, ""})
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil || resp.StatusCode != 200 {
		ts.t.Fatalf("GET %s: %v, %v", target, resp, err)
	}
	return &stream{ts.t, conn, bufio.NewReader(resp.Body)}
}

// next reads an event.
func (s *stream) next() (b blockOf) {
	s.t.Helper()
	for {
		line, err := s.events.ReadString('\n')
		if err != nil {
			s.t.Fatalf("after %q: %v", line, err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			b.name = value
		case "data":
			b.data = value
		case "id":
			b.id = value
		case "":
			return b
		default:
			s.t.Fatalf("the stream has a line %q", line)
		}
	}
}

// wantNext reads an event, which must have an id.
func (s *stream) wantNext(want string) blockOf {
	s.t.Helper()
	got := s.next()
	if got.String() != want || got.id == "" {
		s.t.Errorf("the stream has %s with id %q, want %s", got, got.id, want)
	}
	return got
}

// allOf is a first event that has the whole view.
func allOf(value string) string { return `put {"path":"/","data":` + value + `}` }

const nothingNew = "keep-alive null"

// TestStreamResumes: what a client is sent first that comes back with the id of an event.
func TestStreamResumes(t *testing.T) {
	const rooms = `{"a":{"n":1,"x":"x"},"b":{"n":2},"c":{"n":3}}`
	open := `{"rules":{".read":true,".write":true,"rooms":{".indexOn":"n"}}}`
	type step struct{ method, target, body string }
	put := func(path, value string) step { return step{"PUT", "/" + path + ".json", value} }
	patch := func(path, value string) step { return step{"PATCH", "/" + path + ".json", value} }
	setRules := func(rules string) step { return step{"PUT", "/.settings/rules.json", rules} }
	many := make(map[bool][]string)
	for i := range 1001 {
		many[true] = append(many[true], fmt.Sprintf(`"k%04d":1`, i))
	}
	for _, c := range []struct {
		name   string
		rules  string // open
		query  string
		client http.Header
		missed []step // while the client is away
		want   string
	}{
		{name: "nothing", want: nothingNew},
		{name: "elsewhere", missed: []step{put("other", "1")}, want: nothingNew},
		{name: "a name that begins alike", missed: []step{put("rooms2", "1")}, want: nothingNew},
		{name: "one value", missed: []step{put("rooms/a/n", "7")}, want: `put {"path":"/a/n","data":7}`},
		{name: "one value, often", missed: []step{put("rooms/a/n", "7"), put("rooms/a/n", "8")}, want: `put {"path":"/a/n","data":8}`},
		{name: "several", missed: []step{put("rooms/c", "null"), patch("rooms/a", `{"n":7,"y/z":1}`)},
			want: `patch {"path":"/","data":{"a/n":7,"a/y/z":1,"c":null}}`},
		{name: "inside of another", missed: []step{put("rooms/a/n", "7"), put("rooms/a", `{"o":1}`), put("rooms/a/p", "2")},
			want: `put {"path":"/a","data":{"o":1,"p":2}}`},
		{name: "came and went", missed: []step{put("rooms/d", "1"), put("rooms/d", "null")}, want: `put {"path":"/d","data":null}`},
		{name: "a write without a change", missed: []step{put("rooms/a/n", "1")}, want: nothingNew},
		{name: "a priority", missed: []step{put("rooms/a/.priority", "1")}, want: nothingNew},
		{name: "all of it", missed: []step{put("rooms", "1")}, want: allOf("1")},
		{name: "what is above", missed: []step{put("", `{"rooms":2}`)}, want: allOf("2")},
		{name: "an update from above", missed: []step{patch("", `{"rooms/a/n":5,"x":1}`)}, want: `put {"path":"/a/n","data":5}`},
		{name: "too much", missed: []step{patch("rooms/b", "{"+strings.Join(many[true], ",")+"}")},
			want: allOf(`{"a":{"n":1,"x":"x"},"b":{` + strings.Join(many[true], ",") + `,"n":2},"c":{"n":3}}`)},
		{name: "a large write", missed: []step{put("rooms/a/n", `"`+strings.Repeat("x", 300_000)+`"`)},
			want: `put {"path":"/a/n","data":"` + strings.Repeat("x", 300_000) + `"}`},
		{name: "a disconnected setting", missed: []step{{"PUT", "/.settings/strictTriggerValidation.json", "true"}}, want: nothingNew},

		{name: "range, nothing", query: `&orderBy="n"&startAt=2`, want: nothingNew},
		{name: "range, below it", query: `&orderBy="n"&startAt=2`, missed: []step{put("rooms/b/x", "1")},
			want: `put {"path":"/b","data":{"n":2,"x":1}}`},
		{name: "range, came", query: `&orderBy="n"&startAt=2`, missed: []step{put("rooms/d/n", "9")}, want: `put {"path":"/d","data":{"n":9}}`},
		{name: "range, left", query: `&orderBy="n"&startAt=2`, missed: []step{put("rooms/c/n", "0")}, want: allOf(`{"b":{"n":2}}`)},
		{name: "range, was never there", query: `&orderBy="n"&startAt=2`, missed: []step{put("rooms/a/n", "0")}, want: allOf(`{"b":{"n":2},"c":{"n":3}}`)},
		{name: "range, went", query: `&orderBy="n"&startAt=2`, missed: []step{put("rooms/c", "null")}, want: allOf(`{"b":{"n":2}}`)},
		{name: "limit with room", query: `&orderBy="$key"&limitToLast=9`, missed: []step{put("rooms/d", "1")}, want: `put {"path":"/d","data":1}`},
		{name: "limit, full", query: `&orderBy="$key"&limitToLast=2`, missed: []step{put("rooms/d", "1")}, want: allOf(`{"c":{"n":3},"d":1}`)},
		{name: "limit, nothing", query: `&orderBy="$key"&limitToLast=2`, missed: []step{put("x", "1")}, want: nothingNew},
		{name: "order of priorities", query: `&orderBy="$priority"&startAt=1`, missed: []step{put("rooms/a/.priority", "3")},
			want: `put {"path":"/a","data":{"n":1,"x":"x"}}`},

		{name: "rules", client: http.Header{}, missed: []step{setRules(`{"rules":{".read":"true",".write":true}}`)}, want: allOf(rooms)},
		{name: "a permission that stays", rules: `{"rules":{"rooms":{".read":"root.child('may').exists()"}}}`, client: http.Header{},
			missed: []step{put("rooms/a/n", "7")}, want: `put {"path":"/a/n","data":7}`},
		{name: "a permission that came back", rules: `{"rules":{"rooms":{".read":"root.child('may').exists()"}}}`, client: http.Header{},
			missed: []step{put("may", "null"), put("rooms/secret", "1"), put("rooms/secret", "null"), put("may", "1")}, want: allOf(rooms)},
		{name: "a permission of the time", rules: `{"rules":{"rooms":{".read":"now > 0"}}}`, client: http.Header{}, want: allOf(rooms)},
		{name: "a limit of the rules", rules: `{"rules":{"rooms":{".read":true,".limit":4}}}`, client: http.Header{},
			missed: []step{put("rooms/d", "1"), put("rooms/b", "null")}, want: `patch {"path":"/","data":{"b":null,"d":1}}`},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/restart=%t", c.name, restart), func(t *testing.T) {
				if restart {
					tier.RacedFrom(t, tier.Full)
				}
				o := Options{Dir: t.TempDir(), Dev: true}
				ts := serveSocket(t, o)
				defer func() { ts.shutdown() }()
				for _, s := range []step{put("rooms", rooms), put("may", "1"), setRules(cmp.Or(c.rules, open))} {
					if r := ts.admin(s.method, s.target, s.body); r.StatusCode != 200 {
						t.Fatal(s, r.body)
					}
				}
				client := c.client
				if client == nil {
					client = http.Header{"Authorization": {"Bearer owner"}}
				}
				target := "/rooms.json?_=1" + c.query
				s := ts.resumed(target, "", client)
				id := s.next().id
				s.Close()
				for _, m := range c.missed {
					if r := ts.admin(m.method, m.target, m.body); r.StatusCode >= 300 {
						t.Fatal(m.target, r.StatusCode, r.body)
					}
				}
				if restart {
					if err := ts.shutdown(); err != nil {
						t.Fatal(err)
					}
					ts = serveSocket(t, o)
				}
				s = ts.resumed(target, id, client)
				next := s.wantNext(c.want)
				s.Close()
				s = ts.resumed(target, next.id, client)
				if c.rules != `{"rules":{"rooms":{".read":"now > 0"}}}` {
					s.wantNext(nothingNew)
				}
				r := ts.admin("PUT", "/rooms/z.json", `{"n":4,".priority":9}`)
				if r.StatusCode != 200 {
					t.Fatal(r.body)
				}
				if got := s.next(); got.id == "" || got.name == "keep-alive" {
					t.Errorf("then the stream has %s", got)
				}
				s.Close()
			})
		}
	}
}

// TestStreamResumesNot: ids that mean nothing here. Their clients are sent the whole view.
func TestStreamResumesNot(t *testing.T) {
	o := Options{Dir: t.TempDir(), Dev: true}
	ts := serveSocket(t, o)
	ts.want("PUT", "/a.json", `{"x":1}`, 200, `{"x":1}`)
	first := func(target, id string) blockOf {
		s := ts.resumed(target, id, nil)
		defer s.Close()
		return s.next()
	}
	ids := map[string]string{
		"of another path":     first("/b.json", "").id,
		"of another query":    first(`/a.json?orderBy="$key"&limitToFirst=9`, "").id,
		"of another database": first("/a.json?ns=other", "").id,
		"made up":             "AAAAAAAAAAAAAAAAAAAAAA",
		"too long":            strings.Repeat("A", 5000),
		"no id":               "812",
		"not base64":          "!!!!!!!!!!!!!!!!!!!!!!",
	}
	good := first("/a.json", "")
	ids["half of one"] = good.id[:11]
	for name, id := range ids {
		if got := first("/a.json", id); got.String() != allOf(`{"x":1}`) {
			t.Errorf("with an id %s the stream begins with %s", name, got)
		}
	}
	if got := first("/a.json", good.id); got.String() != nothingNew {
		t.Errorf("with the right id it begins with %s", got)
	}
	if got := first(`/a.json?orderBy="$key"`, good.id); got.String() != nothingNew {
		t.Errorf("in an order that selects all it begins with %s", got)
	}

	// An earlier copy of the directory that went on has other commits with the same numbers.
	if err := ts.shutdown(); err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	if err := os.CopyFS(filepath.Join(copied, "d"), os.DirFS(o.Dir)); err != nil {
		t.Fatal(err)
	}
	ts = serveSocket(t, o)
	ts.want("PUT", "/a/y.json", "1", 200, "1")
	later := first("/a.json", good.id)
	if later.String() != `put {"path":"/y","data":1}` {
		t.Errorf("after a restart the stream begins with %s", later)
	}
	if err := ts.shutdown(); err != nil {
		t.Fatal(err)
	}
	o.Dir = filepath.Join(copied, "d")
	ts = serveSocket(t, o)
	if got := first("/a.json", later.id); got.String() != allOf(`{"x":1}`) {
		t.Errorf("with an id of the future the stream begins with %s", got)
	}
	ts.want("PUT", "/a/z.json", "1", 200, "1")
	ts.want("PUT", "/a/z.json", "2", 200, "2")
	if got := first("/a.json", later.id); got.String() != allOf(`{"x":1,"z":2}`) {
		t.Errorf("with an id of another history the stream begins with %s", got)
	}
	if got := first("/a.json", good.id); got.String() != `put {"path":"/z","data":2}` {
		t.Errorf("with an id of the common history the stream begins with %s", got)
	}

	// A restored database has other positions.
	backup := ts.admin("GET", "/.settings/backup", "")
	if backup.StatusCode == 200 {
		file := filepath.Join(o.Dir, "restored.db")
		if err := cmp.Or(os.WriteFile(file, []byte(backup.body), 0o600), store.LeaveLog(file)); err != nil {
			t.Fatal(err)
		}
		if err := ts.shutdown(); err != nil {
			t.Fatal(err)
		}
		ts = serveSocket(t, o)
		if got := first("/a.json?ns=restored", good.id); got.String() != allOf(`{"x":1,"z":2}`) {
			t.Errorf("with an id of a restored database the stream begins with %s", got)
		}
	} else {
		t.Errorf("the backup: %d", backup.StatusCode)
	}
	if err := ts.shutdown(); err != nil {
		t.Fatal(err)
	}
}

// TestStreamResumesTooLate: the log is not read for a client that was away for too long.
func TestStreamResumesTooLate(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	ts := serveTest(t, Options{Dir: t.TempDir(), Dev: true})
	ts.want("PUT", "/a.json", "1", 200, "1")
	s := ts.resumed("/a.json", "", nil)
	id := s.next().id
	for i := range 4097 { // one after the other, so each is a commit
		ts.record(call{"PUT", fmt.Sprintf("/b/%d.json?print=silent", i%7), http.Header{"Authorization": {"Bearer owner"}}, fmt.Sprint(i)}, 204)
	}
	late := ts.resumed("/a.json", id, nil)
	late.wantNext(allOf("1"))
	late.Close()
	s.Close()
}

// TestStreamLost: a client that lost the permission gets the error of a plain GET.
func TestStreamLost(t *testing.T) {
	ts := serveTest(t, Options{Dir: t.TempDir(), Dev: true})
	ts.want("PUT", "/.settings/rules.json", `{"rules":{"a":{".read":"root.child('may').exists()"}}}`, 200, `{"status":"ok"}`)
	ts.want("PUT", "/may.json", "1", 200, "1")
	s := ts.resumed("/a.json", "", nil)
	id := s.next().id
	ts.want("PUT", "/may.json", "null", 200, "null")
	if got := s.next(); got.name != "cancel" || got.id != "" {
		t.Errorf("the stream has %s", got)
	}
	r := ts.do(call{"GET", "/a.json", http.Header{"Accept": {"text/event-stream"}, "Last-Event-ID": {id}}, ""})
	if r.StatusCode != 401 {
		t.Errorf("without the permission: %d %s", r.StatusCode, r.body)
	}
}

// TestStreamQuiet: a client of a quiet view learns its position from keep-alives.
func TestStreamQuiet(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ts := pipeTest(t, Options{Dir: dir, Dev: true})
		ts.want("PUT", "/a.json", "1", 200, "1")
		s := ts.resumed("/a.json", "", nil)
		first := s.next()
		ts.want("PUT", "/b.json", "1", 200, "1")
		alive := s.wantNext(nothingNew)
		if alive.id == first.id {
			t.Error("the position stays where it was")
		}
		again := s.wantNext(nothingNew)
		if alive.id != again.id {
			t.Error("without commits the position changes")
		}
		s.Close()
		s = ts.resumed("/a.json", again.id, nil)
		if got := s.wantNext(nothingNew); got.id != again.id {
			t.Error("it begins at another place than it ended")
		}
		s.Close()
		if err := ts.shutdown(); err != nil {
			t.Error(err)
		}
	})
}

// TestStreamWithoutLog: a database in memory has no log, and its events have no ids.
func TestStreamWithoutLog(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	for range 2 {
		s := ts.resumed("/a.json", "AAAAAAAAAAAAAAAAAAAAAA", nil)
		if got := s.next(); got != (blockOf{"put", `{"path":"/","data":null}`, ""}) {
			t.Errorf("the stream begins with %v", got)
		}
		s.Close()
	}
}
