package server

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/server/front"
)

// asBrowser is what browsers accept for an address that is typed.
var asBrowser = http.Header{"Accept": {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}}

// Browsers are shown the first page; all others have the answers that they always had.
func TestFirstPage(t *testing.T) {
	const ready = "Dogwood is ready: " + textAppendJSON
	page := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for name, o := range map[string]Options{
		"dev":   {Dev: true},
		"demo":  {Dev: true, Demo: page},
		"serve": {Namespaces: []string{"shop"}, AdminSecrets: []string{"sesame"}},
	} {
		ts := serveTest(t, o)
		r := ts.do(call{"GET", "/", asBrowser, ""})
		h := r.Header
		if r.StatusCode != 200 || h.Get("Content-Type") != typePage || !strings.Contains(r.body, front.Docs) {
			t.Errorf("%s: %d %s %s, want the page", name, r.StatusCode, h, r.body)
		}
		if !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || !strings.Contains(strings.Join(h.Values("Vary"), ","), "Accept,") {
			t.Errorf("%s: headers %v", name, h)
		}
		if got := strings.Contains(r.body, "/demo/"); got != (name == "demo") {
			t.Errorf("%s: the page leads to the demonstration: %t", name, got)
		}
		if name == "serve" && (strings.Contains(r.body, "shop") || strings.Contains(r.body, ".json")) {
			t.Errorf("serve: the page tells what only members may know: %s", r.body)
		}
		if r := ts.do(call{"HEAD", "/", asBrowser, ""}); r.StatusCode != 200 || r.body != "" || r.Header.Get("Content-Type") != typePage {
			t.Errorf("%s: HEAD: %d %v %q", name, r.StatusCode, r.Header, r.body)
		}
		for _, accept := range []string{"", "*/*", "application/json", "text/event-stream"} {
			if r := ts.do(call{"GET", "/", http.Header{"Accept": {accept}}, ""}); r.StatusCode != 200 || r.body != ready || r.Header.Get("Content-Type") != typeText {
				t.Errorf("%s: Accept %q: %d %q", name, accept, r.StatusCode, r.body)
			}
		}
		if r := ts.do(call{"POST", "/", asBrowser, "1"}); r.StatusCode != 405 {
			t.Errorf("%s: POST: %d, want 405", name, r.StatusCode)
		}
	}
}

// A browser that asks for data gets data, whatever it accepts.
func TestFirstPageIsNoData(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	if r := ts.do(call{"GET", "/.json?ns=here", asBrowser, ""}); r.body != "null" || r.Header.Get("Content-Security-Policy") != "" {
		t.Errorf("GET /.json: %q %v", r.body, r.Header)
	}
}

func TestFirstPageOverTLS(t *testing.T) {
	ts := serveTLS(t, Options{Namespaces: []string{"shop"}})
	defer ts.shutdown()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	q, _ := http.NewRequest("GET", "https://"+ts.addr+"/", nil)
	q.Header = asBrowser
	r, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(r.Body)
	if r.StatusCode != 200 || !strings.Contains(string(body), "<h1>Dogwood</h1>") || r.Header.Get("Strict-Transport-Security") == "" || r.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("%d %v %s", r.StatusCode, r.Header, body)
	}
}
