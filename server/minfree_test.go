package server

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/server/space"
)

// shortOptions are those of a server that keeps 100 MiB free on a disk of 10 GiB,
// where as much is free as the test says.
func shortOptions(t *testing.T, free *atomic.Int64) Options {
	return Options{Dev: true, Dir: t.TempDir(), MinFree: space.Amount{Bytes: 100 << 20},
		statDisk: func(string) (space.Stat, error) { return space.Stat{Free: free.Load(), Size: 10 << 30}, nil }}
}

// TestMinFree: what stores something is refused while a disk has too little room, and what
// does not goes on.
func TestMinFree(t *testing.T) {
	var free atomic.Int64
	var log bytes.Buffer
	free.Store(200 << 20)
	o := shortOptions(t, &free)
	o.Log = textLog(&log)
	n := onSocket(t, o)
	ts := &testServer{Server: n.Server, t: t}
	owner := bearer("owner")
	ask := func(method, target, body string, status int) string {
		t.Helper()
		return ts.record(call{method, target, owner, body}, status).Body.String()
	}
	c := n.connect("")
	wants := func(action, body, want string) {
		t.Helper()
		r := c.request(action, body)
		if got := c.next(); got != fmt.Sprintf(`{"t":"d","d":{"r":%d,"b":%s}}`, r, want) {
			t.Errorf("%s %s: %s", action, body, got)
		}
	}
	const ok, unavailable = `{"s":"ok","d":""}`, `{"s":"unavailable","d":"The service is temporarily unavailable."}`
	ask("PUT", "/a.json?ns=test", `{"x":1,"y":2,"z":3}`, 200)
	wants("o", `{"p":"/left","d":1}`, ok)

	free.Store(90 << 20)
	n.spaces.room.Look()
	if text := ask("PUT", "/b.json?ns=test", `1`, 503); !strings.Contains(text, "has 90 MiB free, less than the 100 MiB that --min-free keeps: make room, or lower it.") {
		t.Errorf("an administrator is told %s", text)
	}
	stranger := ts.record(call{"PUT", "/b.json?ns=test", nil, `1`}, 503)
	if text := stranger.Body.String(); strings.Contains(text, "min-free") || stranger.Header().Get("Retry-After") == "" {
		t.Errorf("a stranger is told %s", text)
	}
	ask("POST", "/b.json?ns=test", `1`, 503)
	ask("PATCH", "/a.json?ns=test", `{"x":null,"w":1}`, 503)
	ask("PUT", "/big.json?ns=test&writeSizeLimit=unlimited", `"`+strings.Repeat("x", 2<<20)+`"`, 503)
	ask("PUT", "/import.json?ns=test&writeSizeLimit=unlimited&print=silent", "["+strings.Repeat("1,", 1<<20)+"1]", 503)
	wants("p", `{"p":"/b","d":1}`, unavailable)
	wants("o", `{"p":"/more","d":1}`, unavailable)

	if got := ask("GET", "/a.json?ns=test", "", 200); got != `{"x":1,"y":2,"z":3}` {
		t.Errorf("the value is %s", got)
	}
	ask("PATCH", "/a.json?ns=test", `{"x":null}`, 200)
	ask("DELETE", "/a/y.json?ns=test", "", 200)
	wants("p", `{"p":"/a/z","d":null}`, ok)
	wants("o", `{"p":"/a","d":null}`, ok)
	wants("oc", `{"p":"/a"}`, ok)
	ask("PUT", "/.settings/rules.json?ns=test", `{"rules":{".read":true,".write":true}}`, 200)
	ask("GET", "/readyz", "", 200)
	for _, line := range []string{`dogwood_disk_free_bytes{use="data"} 9.437184e+07`, `dogwood_disk_min_free_bytes{use="data"} 1.048576e+08`, `dogwood_disk_short{use="data"} 1`} {
		if page := ask("GET", "/metrics", "", 200); !strings.Contains(page, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}

	// The operation that the session left is carried out nonetheless: it was promised.
	c.ws.Close()
	waitFor(t, "the operation that was left", func() bool { return ask("GET", "/left.json?ns=test", "", 200) == "1" })

	free.Store(102 << 20) // not enough more: what the log says last is what writes meet
	n.spaces.room.Look()
	ask("PUT", "/b.json?ns=test", `1`, 503)
	free.Store(110 << 20)
	n.spaces.room.Look()
	ask("PUT", "/b.json?ns=test", `1`, 200)
	n.Close()
	if text := log.String(); strings.Count(text, "writes stop") != 1 || strings.Count(text, "writes go on: there is room again") != 1 {
		t.Errorf("the log has\n%s", text)
	}
}

// TestRoomInTheFile: what was deleted makes room for writes to the same database, although
// files do not shrink, and the disk has no more than before.
func TestRoomInTheFile(t *testing.T) {
	tier.Unraced(t)
	var free atomic.Int64
	free.Store(200 << 20)
	ts := serveTest(t, shortOptions(t, &free))
	text := `"` + strings.Repeat("x", 9<<20) + `"`
	for _, path := range []string{"/a.json?ns=one", "/a.json?ns=two"} {
		ts.record(call{http.MethodPut, path, bearer("owner"), text}, 200)
	}
	free.Store(98 << 20)
	ts.spaces.room.Look()
	ts.record(call{http.MethodPut, "/b.json?ns=one", bearer("owner"), "1"}, 503)
	ts.record(call{http.MethodDelete, "/a.json?ns=one", bearer("owner"), ""}, 200)
	waitFor(t, "room in the file", func() bool {
		w := localRequest(http.MethodPut, "/b.json?ns=one", strings.NewReader("1"))
		w.Header = bearer("owner")
		answer := httptest.NewRecorder()
		ts.ServeHTTP(answer, w)
		return answer.Code == 200
	})
	ts.record(call{http.MethodPut, "/b.json?ns=two", bearer("owner"), "1"}, 503)
}
