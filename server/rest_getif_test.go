package server

import (
	"net/http"
	"testing"
)

// A read of what the client has already is answered without a body, a query's too.
func TestIfNoneMatch(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	ts.want("PUT", "/.json", `{"list":{"a":1,"b":2,"c":3},"leaf":"x"}`, 200, `{"leaf":"x","list":{"a":1,"b":2,"c":3}}`)
	get := func(method, target, tag string) result {
		return ts.do(call{method, target, http.Header{"If-None-Match": {tag}}, ""})
	}
	for _, target := range []string{
		"/list.json", "/leaf.json", "/none.json", "/list.json?format=export", "/leaf.json?print=pretty",
		`/list.json?orderBy="$value"&limitToLast=2`, `/list.json?orderBy="$key"&startAt="x"`, `/leaf.json?orderBy="$key"`,
	} {
		first := get("GET", target, "unknown")
		tag := first.Header.Get("ETag")
		if first.StatusCode != 200 || tag == "" || first.body == "" {
			t.Errorf("GET %s: %d %v %s", target, first.StatusCode, first.Header, first.body)
		}
		for _, same := range []string{tag, `"` + tag + `"`, `W/"` + tag + `"`, `"x", W/"y" ,"` + tag + `"`, "x," + tag} {
			for _, method := range []string{"GET", "HEAD"} {
				if r := get(method, target, same); r.StatusCode != 304 || r.body != "" || r.Header.Get("ETag") != tag {
					t.Errorf("%s %s again: %d %v %s", method, target, r.StatusCode, r.Header, r.body)
				}
			}
		}
	}
	for target, status := range map[string]int{
		"/list.json": 304, "/leaf.json": 304, `/list.json?orderBy="$value"&limitToLast=2`: 304,
		"/none.json": 200, `/list.json?orderBy="$key"&startAt="x"`: 200, // nothing is there
	} {
		r := get("GET", target, "*")
		if r.StatusCode != status || r.Header.Get("ETag") == "" || r.Header.Get("ETag") == "*" || status == 200 && r.body != "null" {
			t.Errorf("GET %s with *: %d %v %s, want %d", target, r.StatusCode, r.Header, r.body, status)
		}
	}
	for _, other := range []string{"x, *", `"*"`, "W/*", ",", `""`, " "} {
		if r := get("GET", "/list.json", other); r.StatusCode != 200 {
			t.Errorf("GET with %s: %d", other, r.StatusCode)
		}
	}
	leaf, list := get("GET", "/leaf.json", "x").Header.Get("ETag"), get("GET", "/list.json", "x").Header.Get("ETag")
	two := http.Header{"If-None-Match": {`"` + leaf + `"`, `"` + list + `"`}}
	for _, target := range []string{"/leaf.json", "/list.json"} {
		if r := ts.do(call{"GET", target, two, ""}); r.StatusCode != 304 {
			t.Errorf("GET %s with both tags in two headers: %d", target, r.StatusCode)
		}
	}
	const query = `/list.json?orderBy="$value"&limitToLast=2`
	tag := get("GET", query, "unknown").Header.Get("ETag")
	ts.want("PUT", "/list/a.json", "0", 200, "0") // outside of the window
	if r := get("GET", query, tag); r.StatusCode != 304 {
		t.Errorf("after a change outside of the window: %d", r.StatusCode)
	}
	ts.want("PUT", "/list/d.json", "4", 200, "4")
	if r := get("GET", query, tag); r.StatusCode != 200 || r.body != `{"c":3,"d":4}` || r.Header.Get("ETag") == tag {
		t.Errorf("after a change of the window: %d %s", r.StatusCode, r.body)
	}
	for _, target := range []string{"/list.json?shallow=true", "/list.json?print=silent"} {
		if r := get("GET", target, tag); r.StatusCode != 400 {
			t.Errorf("GET %s: %d %s", target, r.StatusCode, r.body)
		}
	}
}

// A caller without permission to read is denied, whatever hash it sends.
func TestIfNoneMatchDenied(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	owner := http.Header{"Authorization": {"Bearer owner"}, tagHeader: {"true"}}
	tag := ts.do(call{"PUT", "/list.json?ns=shop", owner, `{"a":1}`}).Header.Get("ETag")
	rules := `{"rules":{"list":{".read":"query.limitToFirst <= 2"}}}`
	if r := ts.do(call{"PUT", "/.settings/rules.json?ns=shop", owner, rules}); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	for target, status := range map[string]int{
		"/list.json?ns=shop": 401,
		`/list.json?ns=shop&orderBy="$key"&limitToFirst=3`: 401,
		`/list.json?ns=shop&orderBy="$key"&limitToFirst=2`: 304,
		`/list.json?ns=shop&orderBy="n"&limitToFirst=2`:    400, // no index
	} {
		if r := ts.do(call{"GET", target, http.Header{"If-None-Match": {tag}}, ""}); r.StatusCode != status {
			t.Errorf("GET %s: %d %s, want %d", target, r.StatusCode, r.body, status)
		}
	}
}
