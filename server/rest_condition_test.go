package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// A condition tells a caller that may write and not read nothing: the answer to a right
// guess is that to a wrong one, and neither is carried out.
func TestConditionNeedsRead(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	ts.want("PUT", "/.settings/rules.json", `{"rules":{"w":{".write":true},"rw":{".read":true,".write":true}}}`, 200, `{"status":"ok"}`)
	large := `"` + strings.Repeat("x", 100<<10) + `"`
	ts.want("PUT", "/.json?print=silent", `{"w":{"pin":4711,"large":`+large+`},"rw":{"pin":4711}}`, 204, "")
	before := ts.admin("GET", "/.json", "").body
	guess := func(method, target, tag, body string) result {
		return ts.do(call{method, target, http.Header{"If-Match": {tag}}, body})
	}
	pin, long := tree.Number(4711).Hash(), tree.String(strings.Repeat("x", 100<<10)).Hash()
	for _, c := range []struct{ method, target, tag, body string }{
		{"PUT", "/w/pin.json", pin, "4711"},
		{"PUT", "/w/pin.json", "wrong", "4711"},
		{"PUT", "/w/pin.json", "null_etag", "4711"},
		{"DELETE", "/w/pin.json", pin, ""},
		{"DELETE", "/w/pin.json", "wrong", ""},
		{"PUT", "/w/absent.json", "wrong", "1"},
		{"PUT", "/w/large.json", long, "1"},
		{"PUT", "/w/large.json", "wrong", "1"},
		{"PUT", "/w.json", "wrong", "1"},
		{"PUT", "/w/pin.json?explain=true", pin, "1"},
		{"PUT", "/w/pin.json?explain=true", "wrong", "1"},
	} {
		r := guess(c.method, c.target, c.tag, c.body)
		if r.StatusCode != 401 || r.body != errorBody(textDenied) || r.Header.Get("ETag") != "" {
			t.Errorf("%s %s if %s: %d %s", c.method, c.target, c.tag, r.StatusCode, r.body)
		}
	}
	if after := ts.admin("GET", "/.json", "").body; after != before {
		t.Errorf("a write was carried out")
	}
	if r := guess("PUT", "/w/absent.json", "null_etag", "1"); r.StatusCode != 200 { // which creates
		t.Errorf("a write that creates: %d %s", r.StatusCode, r.body)
	}
	if r := guess("PUT", "/rw/pin.json", "wrong", "1"); r.StatusCode != 412 || r.body != "4711" || r.Header.Get("ETag") != pin {
		t.Errorf("a wrong guess of a reader: %d %s", r.StatusCode, r.body)
	}
	if r := guess("PUT", "/rw/pin.json", "", "1"); r.StatusCode != 412 || r.body != "4711" {
		t.Errorf("an empty tag: %d %s", r.StatusCode, r.body)
	}
	if r := guess("PUT", "/rw/pin.json", pin, "1"); r.StatusCode != 200 {
		t.Errorf("a right guess of a reader: %d %s", r.StatusCode, r.body)
	}
}

// A conditional write about a large value is answered as one about a small one: with
// the value and its tag if it differs, from which clients try again.
func TestConditionOfLargeValue(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	large := `"` + strings.Repeat("x", 1<<20) + `"`
	ts.want("PUT", "/a.json?print=silent", large, 204, "")
	r := ts.do(call{"PUT", "/a.json?access_token=owner", http.Header{"If-Match": {"wrong"}}, "2"})
	if r.StatusCode != 412 || r.body != large {
		t.Fatalf("%d %.80s", r.StatusCode, r.body)
	}
	r = ts.do(call{"PUT", "/a.json?access_token=owner", http.Header{"If-Match": {r.Header.Get("ETag")}}, "2"})
	if r.StatusCode != 200 {
		t.Fatalf("%d %.80s", r.StatusCode, r.body)
	}
}
