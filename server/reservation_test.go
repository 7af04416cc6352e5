package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/server/peer"
)

// wantRoom waits until answers hold exactly n bytes of their budget.
func (ts *testServer) wantRoom(n int64) {
	ts.t.Helper()
	waitFor(ts.t, fmt.Sprintf("answers to hold %d bytes", n), func() bool { return ts.all.Answers.Meter().Used() == n })
}

// A large read waits for the room that a client which does not read holds.
func TestAnswersWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		ts := pipeTest(t, Options{Dev: true, Limits: Limits{MaxAnswersBytes: size * 3 / 2}})
		defer ts.shutdown()
		long := "[" + strings.Repeat(`"`+strings.Repeat("x", size/16)+`",`, 16) + "1]"
		ts.want("PUT", "/long.json?print=silent", long, 204, "")
		for _, target := range []string{"/long.json", "/long.json?format=export", "/long.json?print=pretty"} {
			deaf, _ := ts.send(call{"GET", target, nil, noBody})
			synctest.Wait()
			if used := ts.all.Answers.Meter().Used(); used < size {
				t.Errorf("GET %s takes room for %d bytes", target, used)
			}
			ts.want("GET", "/small.json", noBody, 200, "null")
			began := time.Now()
			time.AfterFunc(200*time.Millisecond, func() { deaf.Close() })
			if r := ts.admin("GET", "/long.json", noBody); r.StatusCode != 200 || r.body != long {
				t.Errorf("GET beside %s: %d, %d bytes", target, r.StatusCode, len(r.body))
			}
			if time.Since(began) < 200*time.Millisecond {
				t.Errorf("GET beside %s did not wait", target)
			}
			synctest.Wait()
			if used := ts.all.Answers.Meter().Used(); used != 0 {
				t.Errorf("%d bytes were not given back", used)
			}
		}
	})
}

// Where no room comes free, large answers are refused before anything is
// written, and everything else goes on.
func TestAnswersWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		ts := pipeTest(t, Options{Dev: true, Limits: Limits{MaxAnswersBytes: size * 3 / 2}})
		defer ts.shutdown()
		long := `"` + strings.Repeat("x", size-2) + `"`
		ts.want("PUT", "/long.json", long, 200, long)
		deaf, _ := ts.send(call{"GET", "/long.json", nil, noBody})
		defer deaf.Close()
		synctest.Wait()
		for _, c := range []struct{ method, target, body string }{
			{"GET", "/long.json", noBody},
			{"GET", "/.json?format=export&print=pretty", noBody}, // without pretty it goes through a file
			{"PUT", "/other.json", long},
			{"PATCH", "/other.json", `{"a":` + long + `}`},
		} {
			began := time.Now()
			r := ts.admin(c.method, c.target, c.body)
			if r.StatusCode != 503 || r.Header.Get("Retry-After") == "" || r.body != errorBody(textUnavailable) {
				t.Errorf("%s %s: %d %.100s, want 503 with Retry-After", c.method, c.target, r.StatusCode, r.body)
			}
			if d := time.Since(began); d != peer.MemoryTimeout {
				t.Errorf("%s %s was refused after %s, want %s", c.method, c.target, d, peer.MemoryTimeout)
			}
		}
		h := http.Header{"If-Match": {nullTag}}
		if r := ts.do(call{"DELETE", "/long.json", h, noBody}); r.StatusCode != 503 {
			t.Errorf("DELETE with a stale tag: %d %.100s, want 503", r.StatusCode, r.body)
		}
		ts.want("GET", "/other.json", noBody, 200, "null")
		ts.want("GET", "/.json?shallow=true", noBody, 200, `{"long":true}`)
		ts.want("PUT", "/other.json?print=silent", long, 204, "")
		time.Sleep(peer.WriteTimeout)
		synctest.Wait()
		ts.want("GET", "/other.json", noBody, 200, long)
		synctest.Wait()
		if used := ts.all.Answers.Meter().Used(); used != 0 {
			t.Errorf("%d bytes were not given back", used)
		}
	})
}

// An answer that is larger than the whole budget is possible.
func TestAnswerLargerThanBudget(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, Limits: Limits{MaxAnswersBytes: 100_000}})
	long := `"` + strings.Repeat("x", 1<<20) + `"`
	for range 2 {
		ts.want("PUT", "/long.json", long, 200, long)
		ts.wantRoom(0)
		ts.want("GET", "/long.json", noBody, 200, long)
		ts.wantRoom(0)
	}
}

// No more than a few answers are made at a time, and a read does not wait for
// its turn longer than it may take.
func TestAnswersTakeTurns(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	for ts.all.Views.Briefs().Try(1) == nil {
		continue
	}
	ts.want("GET", "/a.json?timeout=50ms", noBody, 400, errorBody(textTimeout))
	ts.all.Views.Briefs().Release(1)
	ts.want("GET", "/a.json?timeout=1min", noBody, 200, "null")
}
