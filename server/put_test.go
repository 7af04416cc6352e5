package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

// rowsFrom is more than streamFrom bytes of canonical JSON, with more members at its end.
func rowsFrom(more string) string {
	var b strings.Builder
	for i := 0; b.Len() <= streamFrom; i++ {
		fmt.Fprintf(&b, `,"k%06d":{"pad":"%0900d"}`, i, i)
	}
	return "{" + b.String()[1:] + more + "}"
}

// TestLargePutTakesLittleMemory: a body that would take more memory than there is for one
// write, if it was in memory as a whole, is stored while it arrives, and so sent back.
func TestLargePutTakesLittleMemory(t *testing.T) {
	tier.Unraced(t)
	t.Parallel()
	ts := serveTest(t, Options{Dev: true, Dir: t.TempDir(), Limits: Limits{MaxWorkBytes: 2 * streamWork, MaxBodiesBytes: streamFrom}})
	text := rowsFrom(`,"long":"` + strings.Repeat("x", 3*streamWork) + `"`)
	if r := ts.do(call{"PUT", "/a.json?print=pretty", ownerHeader, text}); r.StatusCode != 413 && r.StatusCode != 503 {
		t.Errorf("with a pretty echo: %d %.100s", r.StatusCode, r.body)
	}
	text = text[:len(text)-1-(2*streamWork+streamWork/2)] + `"}` // a string may have 10 MiB
	for target, want := range map[string]string{"/a.json": text, "/a.json?print=silent": ""} {
		if r := ts.do(call{"PUT", target, ownerHeader, text}); r.StatusCode >= 300 || r.body != want {
			t.Fatalf("PUT %s: %d %.100s, %d bytes", target, r.StatusCode, r.body, len(r.body))
		}
		if r := ts.do(call{"GET", "/a.json?format=export", ownerHeader, ""}); r.body != text {
			t.Errorf("PUT %s: %d bytes were stored, want %d", target, len(r.body), len(text))
		}
	}
	ts.wantRoom(0)
}

// TestSilentPutIsAPut: in what a client sees it does not matter how a value was stored.
func TestSilentPutIsAPut(t *testing.T) {
	tier.Unraced(t)
	t.Parallel()
	ts := serveTest(t, Options{Dev: true, Dir: t.TempDir(), Limits: Limits{MaxWriteBytes: 3 * streamFrom}})
	for _, more := range []string{
		`,"s":{"n":{".sv":{"increment":2}},"gone":{".sv":{"increment":1}},"gone":5,"new":{".sv":{"increment":4}}}`,
		`,"s":{"p":{".priority":{".sv":{"increment":1}},".value":{".sv":{"increment":7}}},"q":{".priority":"x",".value":{".sv":{"increment":1}}}}`,
		`,"z":[1,null,2],"a":{".value":"v",".priority":1}`,
		`,".value":1`, `,"a.b":1`, `,"a":`, `,"a":{".sv":"unknown"}`, `,"a":{".sv":{"increment":1e308}}`, "}", `,"k":"` + strings.Repeat("y", 3*streamFrom) + `"`,
	} {
		text := rowsFrom(more)
		var bodies, trees [2]string
		for i, print := range []string{"pretty", "silent"} {
			ts.want("PUT", "/a.json?print=silent", `{"s":{"n":40,"gone":1,"p":{".priority":3,".value":2},"q":1},"a":1.7e308,"old":1}`, 204, "")
			r := ts.do(call{"PUT", "/a.json?print=" + print, ownerHeader, text})
			if r.StatusCode < 300 {
				r.body = ""
			}
			bodies[i] = r.body
			trees[i] = ts.do(call{"GET", "/a.json?format=export", ownerHeader, ""}).body
		}
		if bodies[0] != bodies[1] || trees[0] != trees[1] {
			t.Errorf("%.80s:\n%.200s\n%.200s\n%d and %d bytes: %s\n%s", more, bodies[0], bodies[1], len(trees[0]), len(trees[1]), ending(trees[0]), ending(trees[1]))
		}
	}
	ts.want("PUT", "/t.json", `1`, 200, "1")
	if r := ts.do(call{"PUT", "/t.json?print=silent", ownerHeader, rowsFrom(`,"at":{".sv":"timestamp"}`)}); r.StatusCode != 204 {
		t.Errorf("a timestamp: %d %s", r.StatusCode, r.body)
	}
	if at := ts.do(call{"GET", "/t/at.json", ownerHeader, ""}).body; len(at) != len("1700000000000") {
		t.Errorf("the timestamp is %s", at)
	}
	large := http.Header{"Transfer-Encoding": {"chunked"}}
	if r := ts.do(call{"PUT", "/t.json?print=silent&writeSizeLimit=tiny", withHeader(large), chunked(rowsFrom(""))}); r.StatusCode != 204 {
		t.Errorf("in chunks: %d %s", r.StatusCode, r.body)
	}
}

func ending(s string) string { return s[max(0, len(s)-200):] }

// TestSilentPutEvents: who listens at the path, above it or below it sees the new value.
func TestSilentPutEvents(t *testing.T) {
	t.Parallel()
	tier.RacedFrom(t, tier.Full)
	for _, c := range []struct{ at, path, data string }{
		{"/a.json", "/", rowsFrom(`,"b":2`)}, {"/a/b.json", "/", "2"}, {"/.json", "/a", rowsFrom(`,"b":2`)},
	} {
		ts := serveTest(t, Options{Dev: true, Dir: t.TempDir()})
		s := ts.follow(c.at)
		s.want("event: put\ndata: {\"path\":\"/\",\"data\":null}\n\n")
		if r := ts.do(call{"PUT", "/a.json?print=silent", ownerHeader, sorted(rowsFrom(`,"b":2`))}); r.StatusCode != 204 {
			t.Errorf("PUT: %d %s", r.StatusCode, r.body)
		}
		if got := s.next().String(); got != `put {"path":"`+c.path+`","data":`+sorted(c.data)+"}" {
			t.Errorf("%s: the stream has %.200s", c.at, got)
		}
		s.Close()
	}
}

// sorted is a text with its keys in order.
func sorted(text string) string { return tree.MustParseNode(text).JSON() }
