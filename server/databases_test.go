package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/server/dropped"
	"github.com/dogwooddb/dogwood/server/space"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/logged"

	dsync "github.com/dogwooddb/dogwood/sync"
)

// doorsOfDatabases are all requests that create, show and drop databases.
var doorsOfDatabases = []call{
	{"GET", "/.settings/databases.json", nil, ""},
	{"POST", "/.settings/databases.json", nil, `{"name":"new"}`},
	{"GET", "/.settings/databases/shop.json", nil, ""},
	{"DELETE", "/.settings/databases/shop.json", nil, ""},
	{"DELETE", "/.settings/dropped/shop.db.dropped-20260101T000000Z.json", nil, ""},
}

func sesame() http.Header { return bearer("sesame") }

// droppedFiles returns the names of the files of dropped databases in a directory.
func droppedFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := dropped.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		names = append(names, f.Name)
	}
	return names
}

// TestDatabasesAreForAdmins: no other caller learns of databases, creates or drops one. A secret of
// a user's token, and the token of a development server, are none of an administrator.
func TestDatabasesAreForAdmins(t *testing.T) {
	dir := t.TempDir()
	ts := serveTest(t, Options{Dir: dir, Namespaces: []string{"main"}, DefaultNamespace: "main", AdminSecrets: []string{"sesame"}})
	ts.record(call{"POST", "/.settings/databases.json", sesame(), `{"name":"shop"}`}, 200)
	old := filepath.Join(dir, "shop.db.dropped-20260101T000000Z")
	if err := os.WriteFile(old, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, header := range []http.Header{nil, bearer("owner"), bearer("wrong"), bearer(unsigned(`{"sub":"ana"}`))} {
		for _, c := range doorsOfDatabases {
			c.header = header
			for _, suffix := range []string{"", "?ns=shop", "?ns=main"} {
				r := ts.do(call{c.method, c.target + suffix, header, c.body})
				if r.StatusCode != http.StatusUnauthorized {
					t.Errorf("%s %s with %v: %d %s", c.method, c.target, header, r.StatusCode, r.body)
				}
			}
		}
	}
	if names := strings.Join(ts.spaces.names(), " "); names != "main shop" || len(droppedFiles(t, dir)) != 1 {
		t.Errorf("there are %s", names)
	}
}

// TestDatabasesRefused: what can't be done is refused, and changes nothing.
func TestDatabasesRefused(t *testing.T) {
	dir := t.TempDir()
	ts := serveTest(t, Options{Dir: dir, Namespaces: []string{"main", "blog"}, DefaultNamespace: "main", Deactivated: []string{"off"},
		AdminSecrets: []string{"sesame"}, Limits: Limits{MaxNamespaces: 5}})
	ask := func(method, target, body string, status int, text string) {
		t.Helper()
		if got := ts.record(call{method, target, sesame(), body}, status).Body.String(); !strings.Contains(got, text) {
			t.Errorf("%s %s %s: %s, want %q", method, target, body, got, text)
		}
	}
	for _, name := range []string{"", "Shop", "a b", "-a", "a/b", "../a", "a.db", "é", strings.Repeat("a", 64)} {
		body, _ := json.Marshal(map[string]string{"name": name})
		ask("POST", "/.settings/databases.json", string(body), 400, "Invalid namespace")
	}
	ask("POST", "/.settings/databases.json", `{`, 400, "Invalid data")
	ask("POST", "/.settings/databases.json", `{"name":7}`, 400, "Invalid data")
	ask("POST", "/.settings/databases.json", `{"name":"main"}`, 409, "There is a database of this name.")
	ask("POST", "/.settings/databases.json", `{"name":"off"}`, 409, "There is a database of this name.")
	ask("PUT", "/.settings/databases.json", `{"name":"x"}`, 405, "")
	if err := os.WriteFile(filepath.Join(dir, "put.db"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask("POST", "/.settings/databases.json", `{"name":"put"}`, 409, "put into the data directory")
	ask("DELETE", "/.settings/databases/main.json", "", 409, "default database")
	ask("DELETE", "/.settings/databases/blog.json", "", 409, "--namespace")
	ask("DELETE", "/.settings/databases/off.json", "", 423, "deactivated")
	ask("DELETE", "/.settings/databases/none.json", "", 404, "")
	ask("GET", "/.settings/databases/none.json", "", 404, "")
	ask("DELETE", "/.settings/databases/..%2Fmain.json", "", 400, "Invalid namespace")
	for _, file := range []string{"main.db", "admin-secret", "..%2Fx.db.dropped-20260101T000000Z", "x.db.dropped-20260101T000000Z", "x.db.dropped-"} {
		ask("DELETE", "/.settings/dropped/"+file+".json", "", 404, "")
	}

	// The bound counts files of dropped databases.
	ask("POST", "/.settings/databases.json", `{"name":"d"}`, 200, `"name":"d"`)
	ask("POST", "/.settings/databases.json", `{"name":"e"}`, 200, `"name":"e"`)
	ask("POST", "/.settings/databases.json", `{"name":"f"}`, 503, "Too many databases")
	ask("DELETE", "/.settings/databases/e.json", "", 200, `"name":"e"`)
	ask("POST", "/.settings/databases.json", `{"name":"f"}`, 503, "purge some")
	ask("DELETE", "/.settings/dropped/"+droppedFiles(t, dir)[0]+".json", "", 200, `"purged"`)
	ask("POST", "/.settings/databases.json", `{"name":"f"}`, 200, `"name":"f"`)
}

// TestDatabasesOnShortDisk: a database is not created where there is too little room, and is
// dropped there.
func TestDatabasesOnShortDisk(t *testing.T) {
	var free atomic.Int64
	free.Store(200 << 20)
	o := shortOptions(t, &free)
	o.Dev, o.AdminSecrets, o.MinFree = false, []string{"sesame"}, space.Amount{Bytes: 100 << 20}
	ts := serveTest(t, o)
	ts.record(call{"POST", "/.settings/databases.json", sesame(), `{"name":"a"}`}, 200)
	ts.record(call{"POST", "/.settings/databases.json", sesame(), `{"name":"b"}`}, 200)
	free.Store(90 << 20)
	ts.spaces.room.Look()
	if text := ts.record(call{"POST", "/.settings/databases.json", sesame(), `{"name":"c"}`}, 503).Body.String(); !strings.Contains(text, "--min-free") {
		t.Error(text)
	}
	ts.record(call{"DELETE", "/.settings/databases/a.json", sesame(), ""}, 200)
}

// TestDatabasesReadOnly: where the log cannot be written, nothing is created or dropped.
func TestDatabasesReadOnly(t *testing.T) {
	dir := t.TempDir()
	o := Options{Dir: dir, Namespaces: []string{"main"}, DefaultNamespace: "main", AdminSecrets: []string{"sesame"}}
	ts := serveTest(t, o)
	ts.record(call{"POST", "/.settings/databases.json", sesame(), `{"name":"shop"}`}, 200)
	if err := ts.spaces.log.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := logged.OpenLog(store.LogDir(dir), logged.LogOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	ts.spaces.log = log
	for _, c := range doorsOfDatabases {
		want := 503
		if c.method == "GET" {
			continue
		}
		if text := ts.record(call{c.method, c.target, sesame(), c.body}, want).Body.String(); !strings.Contains(text, "read-only") {
			t.Errorf("%s %s: %s", c.method, c.target, text)
		}
	}
}

// TestDropTellsClients: clients of a database that is dropped are told, and what is created
// under its name later is another database.
func TestDropTellsClients(t *testing.T) {
	dir := t.TempDir()
	n := onSocket(t, Options{Dir: dir, Namespaces: []string{"main"}, DefaultNamespace: "main", AdminSecrets: []string{"sesame"}, Rules: standardRules(true)})
	ts := &testServer{Server: n.Server, t: t}
	ask := func(method, target, body string, status int) string {
		t.Helper()
		return ts.record(call{method, target, sesame(), body}, status).Body.String()
	}
	ask("POST", "/.settings/databases.json", `{"name":"test"}`, 200)
	c := n.connect("")
	c.request("o", `{"p":"/left","d":1}`)
	c.next()
	c.request("p", `{"p":"/a/b","d":"old"}`)
	c.next()
	if text := ask("GET", "/.settings/databases/test.json", "", 200); !strings.Contains(text, `"children":1,"connections":1`) {
		t.Error(text)
	}
	before, _ := ts.totals()
	ask("DELETE", "/.settings/databases/test.json", "", 200)
	c.want(`{"t":"c","d":{"t":"s","d":"The database was dropped."}}`)
	c.wantClose(websocket.ClosePolicyViolation)
	ask("GET", "/a.json?ns=test", "", 404)
	ask("GET", "/.settings/databases/test.json", "", 404)
	if after, _ := ts.totals(); after.Writes < before.Writes {
		t.Errorf("counters went back from %d to %d", before.Writes, after.Writes)
	}
	ask("POST", "/.settings/databases.json", `{"name":"test"}`, 200)
	if text := ask("GET", "/.json?ns=test", "", 200); text != "null" {
		t.Errorf("the new database has %s", text)
	}
	files := droppedFiles(t, dir)
	if len(files) != 1 {
		t.Fatalf("dropped files are %v", files)
	}
	if found, err := store.CheckFile(filepath.Join(dir, files[0])); err != nil || len(found) > 0 {
		t.Errorf("the dropped file: %v, %v", found, err)
	}
}

// TestDropBesideRequests: with requests, creations and drops at the same time, each is carried
// out or refused, and no file is lost or made by a request that comes too late.
func TestDropBesideRequests(t *testing.T) {
	dir := t.TempDir()
	ts := serveTest(t, Options{Dir: dir, Namespaces: []string{"main"}, DefaultNamespace: "main", AdminSecrets: []string{"sesame"}})
	var created, gone atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				if ts.do(call{"POST", "/.settings/databases.json", sesame(), `{"name":"shop"}`}).StatusCode == 200 {
					created.Add(1)
				}
				ts.do(call{"PUT", "/a.json?ns=shop", sesame(), "1"})
				if ts.do(call{"DELETE", "/.settings/databases/shop.json", sesame(), ""}).StatusCode == 200 {
					gone.Add(1)
				}
			}
		})
	}
	all.Wait()
	left := int64(0)
	if _, err := os.Stat(filepath.Join(dir, "shop.db")); err == nil {
		left = 1
	}
	if files := droppedFiles(t, dir); int64(len(files)) != gone.Load() || created.Load() != gone.Load()+left {
		t.Errorf("%d were created, %d dropped, %d files of dropped ones, %d is left", created.Load(), gone.Load(), len(files), left)
	}
}

// TestDropEndsReads: a drop does not wait for a long read, which is told why it ends.
func TestDropEndsReads(t *testing.T) {
	ts := serveTest(t, Options{Dir: t.TempDir(), Namespaces: []string{"main"}, DefaultNamespace: "main", AdminSecrets: []string{"sesame"}})
	ts.record(call{"POST", "/.settings/databases.json", sesame(), `{"name":"test"}`}, 200)
	var value strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&value, `,"k%06d":{"x":1}`, i)
	}
	ts.record(call{"PUT", "/.json?ns=test&print=silent", sesame(), "{" + value.String()[1:] + "}"}, 204)
	ns, err := ts.spaces.find("test")
	if err != nil {
		t.Fatal(err)
	}
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ctx, cancel := newReadContext(t.Context(), ns.gone, readTimeout)
		defer cancel()
		read := dsync.Read{Caller: dsync.Caller{Admin: true}, OneShot: true}
		ended <- ns.db.Load().Export(ctx, read, &firstWrite{func() {
			close(began)
			<-ns.gone
		}})
	}()
	<-began
	ts.record(call{"DELETE", "/.settings/databases/test.json", sesame(), ""}, 200)
	err = <-ended
	if e := (&request{}).statusOf(err); e.status != 404 || e.text != textDropped {
		t.Errorf("the read ends with %v, answered by %d %s", err, e.status, e.text)
	}
}

// A firstWrite calls a function when it is written to first.
type firstWrite struct{ called func() }

func (w *firstWrite) Write(p []byte) (int, error) {
	if w.called != nil {
		w.called()
		w.called = nil
	}
	return len(p), nil
}
