package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/tree"
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

// TestLongFormsAreMadeWhileSent: an answer in a form that is many times as long as the compact one
// takes the memory of the compact one, and its client gets all of it.
func TestLongFormsAreMadeWhileSent(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	ts := serveTest(t, Options{Dev: true})
	members := make([]string, 6000)
	for i := range members {
		members[i] = fmt.Sprintf("\"k%04d\":\"\u2028%d\"", i, i)
	}
	const levels = 30
	compact := strings.Repeat(`{"k":`, levels) + "{" + strings.Join(members, ",") + "}" + strings.Repeat("}", levels)
	ts.want("PUT", "/.json?print=silent", compact, 204, "")
	pretty := string(tree.AppendPretty(nil, compact))
	escaped := strings.NewReplacer("\u2028", `\u2028`)
	for query, want := range map[string]string{
		"":                         compact,
		"?print=pretty":            pretty + "\n",
		"?callback=f":              "f(" + escaped.Replace(compact) + ");",
		"?callback=f&print=pretty": "f(" + escaped.Replace(pretty) + ");",
	} {
		ts.want("GET", "/.json"+query, noBody, 200, want)
		short := ts.do(call{"GET", "/.json" + query, withHeader(http.Header{"Accept-Encoding": {"gzip"}}), noBody})
		if short.StatusCode != 200 || short.Header.Get("Content-Encoding") != "gzip" || short.body != want {
			t.Errorf("compressed GET %s: %d, %d bytes, want %d", query, short.StatusCode, len(short.body), len(want))
		}
		if r := ts.admin("HEAD", "/.json"+query, noBody); r.StatusCode != 200 || r.body != "" {
			t.Errorf("HEAD %s: %d, %d bytes", query, r.StatusCode, len(r.body))
		}

		q := new(request)
		q.init(ts.Server, httptest.NewRecorder(), localRequest("GET", "/.json"+query, nil))
		var err error
		if q.form, err = parseForm(q.params, q.method); err != nil {
			t.Fatal(err)
		}
		a := q.json(func(dst []byte) []byte { return append(dst, compact...) })
		most := 0
		for piece := range a.all() {
			most = max(most, len(piece))
		}
		if most > len(compact) || q.answer.Size() > int64(2*len(compact)) {
			t.Errorf("GET %s has %d bytes in memory, and counts %d, for a text of %d", query, most, q.answer.Size(), len(compact))
		}
		q.release()
	}
}
