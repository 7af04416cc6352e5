package server

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/server/peer"
)

// A write is charged for what becomes of its text. One that takes more than there is for
// a client is refused before all of it has arrived, and everything else goes on.
func TestCostlyWrites(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, Limits: Limits{MaxWorkBytes: 1 << 20}})
	many := "[" + strings.Repeat("1,", 4000) + "1]" // 8 KB that take 1.7 MB
	for _, method := range []string{"PUT", "PATCH", "POST"} {
		body := many
		if method == "PATCH" {
			body = `{"a":` + many + "}"
		}
		if r := ts.admin(method, "/x.json", body); r.StatusCode != 413 || r.body != errorBody(textTooCostly) {
			t.Errorf("%s: %d %.100s, want 413", method, r.StatusCode, r.body)
		}
	}
	long := `"` + strings.Repeat("x", 100_000) + `"` // 100 KB that take 600 KB
	ts.want("PUT", "/y.json?print=silent", long, 204, "")
	ts.want("GET", "/x.json", noBody, 200, "null")
	if used := ts.all.Work.Meter().Used(); used != 0 {
		t.Errorf("%d bytes were not given back", used)
	}
}

// Where others use up the memory for writes, a write waits for a while and is then
// refused without effect.
func TestWritesWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := pipeTest(t, Options{Dev: true, Limits: Limits{MaxWorkBytes: 1 << 20}})
		defer ts.shutdown()
		ts.all.Work.Try(1 << 20)
		began := time.Now()
		r := ts.admin("PUT", "/x.json", "1")
		if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || time.Since(began) != peer.MemoryTimeout {
			t.Errorf("PUT: %d after %s, want 503 with Retry-After after %s", r.StatusCode, time.Since(began), peer.MemoryTimeout)
		}
		time.AfterFunc(time.Second, func() { ts.all.Work.Release(1 << 20) })
		ts.want("PUT", "/y.json", "1", 200, "1")
		ts.want("GET", "/x.json", noBody, 200, "null")
		if used := ts.all.Work.Meter().Used(); used != 0 {
			t.Errorf("%d bytes were not given back", used)
		}
	})
}

// A large value is only read when there is memory for it.
func TestReadsWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := pipeTest(t, Options{Dev: true, Limits: Limits{MaxWorkBytes: 32 << 20}})
		defer ts.shutdown()
		for _, key := range []string{"a", "b", "c"} {
			ts.want("PUT", "/x/"+key+".json?print=silent", `"`+strings.Repeat("x", 1<<20)+`"`, 204, "")
		}
		ts.all.Work.Try(30 << 20)
		if r := ts.admin("GET", "/x.json", noBody); r.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("GET without memory: %d, want 503", r.StatusCode)
		}
		if used := ts.all.Work.Meter().Used(); used != 30<<20 {
			t.Errorf("%d bytes are used, want %d", used, 30<<20)
		}
		time.AfterFunc(time.Second, func() { ts.all.Work.Release(30 << 20) })
		if r := ts.admin("GET", "/x.json", noBody); r.StatusCode != http.StatusOK || len(r.body) < 3<<20 {
			t.Errorf("GET: %d, %d bytes", r.StatusCode, len(r.body))
		}
		ts.all.Work.Try(30 << 20)
		ts.want("GET", "/x.json?shallow=true", noBody, 200, `{"a":true,"b":true,"c":true}`)
		ts.all.Work.Release(30 << 20)
		if used := ts.all.Work.Meter().Used(); used != 0 {
			t.Errorf("%d bytes were not given back", used)
		}
	})
}
