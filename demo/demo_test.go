package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

func newTest(t *testing.T) *Demo {
	t.Helper()
	d, err := New(Options{Sample: "chat", Namespace: "chat"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func ask(d *Demo, method, url string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(method, url, nil))
	return w
}

func TestFiles(t *testing.T) {
	d := newTest(t)
	for _, c := range []struct {
		method, path string
		status       int
		kind, text   string
	}{
		{"GET", "/demo/", 200, "text/html; charset=utf-8", `<body data-sample="chat" data-namespace="chat">`},
		{"GET", "/demo/?as=hmadi", 200, "text/html; charset=utf-8", "<title>Dogwood</title>"},
		{"HEAD", "/demo/", 200, "text/html; charset=utf-8", ""},
		{"GET", "/demo/app.js", 200, "text/javascript; charset=utf-8", "Generated"},
		{"GET", "/demo/sw.js", 200, "text/javascript; charset=utf-8", "Generated"},
		{"GET", "/demo/app.css", 200, "text/css; charset=utf-8", "Generated"},
		{"GET", "/demo/icon.svg", 200, "image/svg+xml", "<svg"},
		{"GET", "/demo", 301, "text/html; charset=utf-8", "/demo/"},
		{"GET", "/demo/index.html", 404, "text/plain; charset=utf-8", ""},
		{"GET", "/demo/dist/app.js", 404, "text/plain; charset=utf-8", ""},
		{"GET", "/demo/../demo.go", 404, "text/plain; charset=utf-8", ""},
		{"POST", "/demo/", 405, "text/plain; charset=utf-8", ""},
		{"GET", "/demo/decisions", 400, "text/plain; charset=utf-8", "after must be a number"},
		{"GET", "/demo/decisions?after=x", 400, "text/plain; charset=utf-8", ""},
		{"GET", "/demo/decisions?after=0", 200, "application/json; charset=utf-8", `{"decisions":[],"last":0}`},
	} {
		w := ask(d, c.method, c.path)
		if w.Code != c.status || w.Header().Get("Content-Type") != c.kind || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s %s = %d %s %.80q, want %d %s with %q", c.method, c.path, w.Code, w.Header().Get("Content-Type"), w.Body, c.status, c.kind, c.text)
		}
		if p := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none'; script-src 'self'; ") {
			t.Errorf("%s %s: policy %q", c.method, c.path, p)
		}
	}
}

func TestUnchangedFileIsNotSentAgain(t *testing.T) {
	d := newTest(t)
	r := httptest.NewRequest("GET", "/demo/app.js", nil)
	r.Header.Set("If-None-Match", ask(d, "GET", "/demo/app.js").Header().Get("ETag"))
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	if w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("status %d, %d bytes; want 304 and none", w.Code, w.Body.Len())
	}
}

// The client chooses the Host, so it must not be able to add to the header with it.
func TestPolicyNamesTheHost(t *testing.T) {
	for _, c := range []struct{ host, want string }{
		{"localhost:9000", "connect-src 'self' ws://localhost:9000 wss://localhost:9000"},
		{"[::1]:9000", "connect-src 'self' ws://[::1]:9000 wss://[::1]:9000"},
		{"a; script-src *", "connect-src 'self'"},
		{"a https://example.org", "connect-src 'self'"},
		{"", "connect-src 'self'"},
	} {
		h := make(http.Header)
		setHeaders(h, c.host)
		if p := h.Get("Content-Security-Policy"); !strings.HasSuffix(p, "; "+c.want) {
			t.Errorf("host %q: policy %q, want it to end with %q", c.host, p, c.want)
		}
	}
}

// hear tells a demonstration of a user's read of a path.
func hear(t *testing.T, d *Demo, namespace, path, uid string) {
	t.Helper()
	rs, err := rules.Parse(`{"rules":{"open":{".read":"auth != null"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := tree.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	q := &rules.Request{Op: rules.OpRead, Path: p, Plain: true, Auth: rules.NewAuth(fmt.Sprintf(`{"uid":%q}`, uid))}
	trace, err := rs.Explain(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	d.Hear(namespace, q, trace)
}

type heard struct {
	Last      int64
	Decisions []struct {
		N      int64
		UID    string
		Paths  []string
		Report struct {
			Allow  bool
			Reason string
			Steps  []struct{ Rule, Outcome string }
		}
	}
}

func after(t *testing.T, d *Demo, n int) (list heard) {
	t.Helper()
	if err := json.Unmarshal(ask(d, "GET", fmt.Sprintf("/demo/decisions?after=%d", n)).Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestDecisions(t *testing.T) {
	d := newTest(t)
	hear(t, d, "chat", "/open", "ana")
	hear(t, d, "another", "/open", "ana")
	hear(t, d, "chat", "/closed", "bo")
	list := after(t, d, 0)
	if list.Last != 2 || len(list.Decisions) != 2 {
		t.Fatalf("%+v, want two decisions", list)
	}
	first, second := list.Decisions[0], list.Decisions[1]
	if !first.Report.Allow || first.UID != "ana" || first.Report.Steps[0].Rule != "/open/.read" || first.Report.Steps[0].Outcome != "true" {
		t.Errorf("first decision: %+v", first)
	}
	if second.Report.Allow || second.Paths[0] != "/closed" || !strings.Contains(second.Report.Reason, "there is no .read rule") {
		t.Errorf("second decision: %+v", second)
	}
	if list := after(t, d, 1); len(list.Decisions) != 1 || list.Decisions[0].N != 2 {
		t.Errorf("after 1: %+v, want number 2", list)
	}
	if list := after(t, d, 77); len(list.Decisions) != 2 {
		t.Errorf("after a number of another server: %+v, want all", list)
	}
}

func TestDecisionsAreBounded(t *testing.T) {
	d := newTest(t)
	for i := range maxDecisions + 5 {
		hear(t, d, "chat", fmt.Sprintf("/open/%d", i), "ana")
	}
	hear(t, d, "chat", "/open/"+strings.Repeat("x", 700), strings.Repeat("u", maxReport/2))
	list := after(t, d, 0)
	if len(list.Decisions) != maxDecisions || list.Decisions[0].N != 7 || list.Last != maxDecisions+6 {
		t.Fatalf("%d decisions from %d to %d, want %d from 7", len(list.Decisions), list.Decisions[0].N, list.Last, maxDecisions)
	}
	for _, text := range d.decisions.ring {
		if len(text) > maxReport {
			t.Errorf("a decision has %d bytes, want at most %d", len(text), maxReport)
		}
	}
}

func TestPageNamesTheSample(t *testing.T) {
	d, err := New(Options{Sample: "owner-storage", Namespace: `"><script>`})
	if err != nil {
		t.Fatal(err)
	}
	const want = `<body data-sample="owner-storage" data-namespace="&#34;&gt;&lt;script&gt;">`
	if page := ask(d, "GET", "/demo/").Body.String(); !strings.Contains(page, want) {
		t.Errorf("page %s, want %s in it", page, want)
	}
}
