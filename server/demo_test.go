package server

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/server/observe"
)

// The demonstration has the paths below /demo/ but those of data, and only in Dev.
func TestDemoRoutes(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "demonstration of "+r.URL.Path)
	})
	dev := serveTest(t, Options{Dev: true, Demo: page})
	other := serveTest(t, Options{Demo: page, Namespaces: []string{"shop"}})
	for _, c := range []struct {
		ts           *testServer
		path, answer string
	}{
		{dev, "/demo", "demonstration of /demo"},
		{dev, "/demo/", "demonstration of /demo/"},
		{dev, "/demo/app.js", "demonstration of /demo/app.js"},
		{dev, "/demo/app.json?ns=shop", "null"},
		{dev, "/demonstration", "append .json"},
		{other, "/demo/", "append .json"},
		{other, "/demo/app.js", "append .json"},
	} {
		if r := c.ts.do(call{"GET", c.path, nil, ""}); !strings.Contains(r.body, c.answer) {
			t.Errorf("GET %s = %d %.80q, want %q", c.path, r.StatusCode, r.body, c.answer)
		}
	}
}

// All decisions are heard, also those that allowed, but not about administrators.
func TestHearDecisions(t *testing.T) {
	var mu sync.Mutex
	var heard []string
	ts := serveTest(t, Options{Dev: true, Rules: parseRules(t, membersOnly), Decisions: observe.Decisions{
		Hear: func(ns string, q *rules.Request, trace *rules.Trace) {
			mu.Lock()
			defer mu.Unlock()
			outcome := "denied"
			if trace.Allow {
				outcome = "allowed"
			}
			heard = append(heard, strings.Join([]string{ns, outcome, q.Auth.UID, trace.Steps[0].Rule.Path}, " "))
		},
	}})
	ana := "&auth=" + unsigned(`{"sub":"ana"}`)
	ts.do(call{"GET", "/rooms/r1.json?ns=a" + ana, nil, ""})
	ts.want("PUT", "/members/ana.json?ns=b&access_token=owner", "true", 200, "true")
	ts.do(call{"GET", "/rooms/r1.json?ns=b" + ana, nil, ""})
	mu.Lock()
	defer mu.Unlock()
	want := []string{"a denied ana /rooms/$room/.read", "b allowed ana /rooms/$room/.read"}
	if !slices.Equal(heard, want) {
		t.Errorf("heard %q, want %q", heard, want)
	}
}
