package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/sync/declared"
)

const (
	documentA = `{"format": "dogwood-data/1", "define": { // sizes
		"sizes": {"count": "/groups/$g/members/$u", "to": "/sizes/$g"},
		"logins": {"map": "/users/$u/login", "to": "/logins/{data.val()}", "value": "= $u", "unique": true}}}`
	documentB = `{"format": "dogwood-data/1", "define": {}}`
)

// statusOfData returns the states of the definitions of a database.
func (ts *testServer) statusOfData(secret string) string {
	ts.t.Helper()
	r := ts.do(call{"GET", "/.settings/data/status.json", bearer(secret), ""})
	var list []declared.Status
	if err := json.Unmarshal([]byte(r.body), &list); err != nil {
		ts.t.Fatalf("status: %d %s, %v", r.StatusCode, r.body, err)
	}
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s %s %s, ", s.Name, s.Kind, s.State)
	}
	return b.String()
}

// The data document is uploaded, listed and rolled back as rules are, by administrators only.
func TestDataDocument(t *testing.T) {
	ts := serveTest(t, Options{Namespaces: []string{"shop"}, AdminSecrets: []string{"sesame"}})
	want := func(method, target, body string, status int, answer string) result {
		t.Helper()
		r := ts.do(call{method, target, bearer("sesame"), body})
		if r.StatusCode != status || r.body != answer {
			t.Errorf("%s %s %.40s: %d %s, want %d %s", method, target, body, r.StatusCode, r.body, status, answer)
		}
		return r
	}
	want("GET", "/.settings/data.json", "", 404, errorBody("There is no data document."))
	want("GET", "/.settings/data/versions.json", "", 200, "[]")
	want("GET", "/.settings/data/status.json", "", 200, "[]")
	want("PUT", "/.settings/data.json?dryRun=true", documentA, 200, `{"status":"ok","definitions":[{"name":"sizes","nodes":0},{"name":"logins","nodes":0}]}`)
	want("GET", "/.settings/data.json", "", 404, errorBody("There is no data document."))
	first := want("PUT", "/.settings/data.json?comment=first", documentA, 200, answerOK)
	want("GET", "/.settings/data.json", "", 200, documentA)
	if got := ts.statusOfData("sesame"); got != "sizes count ready, logins map ready, " {
		t.Error(got)
	}
	want("PUT", "/.settings/data.json", `{"format": "dogwood-data/1", "define": {"a": {"cuont": "/a/$b", "to": "/n"}}}`, 400,
		errorBody(`1:46: the kind is missing: map, count, sum, keep, expire or index, with the path it looks at\n`))
	r := ts.do(call{"PUT", "/.settings/data.json", http.Header{"Authorization": {"Bearer sesame"}, "If-Match": {`"other"`}}, documentB})
	if r.StatusCode != 412 || r.body != errorBody("The data document has changed.") {
		t.Errorf("another If-Match: %d %s", r.StatusCode, r.body)
	}
	r = ts.do(call{"PUT", "/.settings/data.json", http.Header{"Authorization": {"Bearer sesame"}, "If-Match": {first.Header.Get("ETag")}}, documentB})
	if r.StatusCode != 200 {
		t.Errorf("its If-Match: %d %s", r.StatusCode, r.body)
	}
	want("GET", "/.settings/data/versions/1.json", "", 200, documentA)
	r = ts.do(call{"POST", "/.settings/data/rollback.json", http.Header{"Authorization": {"Bearer sesame"}, "If-Match": {first.Header.Get("ETag")}}, `{"version":1}`})
	if r.StatusCode != 412 || r.body != errorBody("The data document has changed.") {
		t.Errorf("a rollback of another: %d %s", r.StatusCode, r.body)
	}
	want("POST", "/.settings/data/rollback.json?dryRun=true", `{"version":1}`, 200, `{"status":"ok","definitions":[{"name":"sizes","nodes":0},{"name":"logins","nodes":0}]}`)
	want("GET", "/.settings/data.json", "", 200, documentB)
	want("POST", "/.settings/data/rollback.json", `{"version":1,"comment":"B is wrong"}`, 200, `{"status":"ok","version":3}`)
	missing := errorBody("There is no such version of the data document.")
	want("GET", "/.settings/data/versions/9.json", "", 404, missing)
	want("POST", "/.settings/data/rollback.json", `{"version":9}`, 404, missing)
	want("POST", "/.settings/data/sizes/pause.json", "", 200, answerOK)
	if got := ts.statusOfData("sesame"); got != "sizes count paused, logins map ready, " {
		t.Error(got)
	}
	want("POST", "/.settings/data/no/pause.json", "", 404, errorBody("There is no such definition."))
	want("POST", "/.settings/data/sizes/explode.json", "", 404, errorBody(textNotFound))
	want("POST", "/.settings/data/sizes/resume.json", "", 200, answerOK)
	want("POST", "/.settings/data/sizes/rebuild.json", "", 200, answerOK)
	for _, c := range []call{
		{"GET", "/.settings/data.json", nil, ""}, {"PUT", "/.settings/data.json", nil, documentB}, {"PUT", "/.settings/data.json?dryRun=true", nil, documentB},
		{"GET", "/.settings/data/versions.json", nil, ""}, {"GET", "/.settings/data/versions/1.json", nil, ""}, {"POST", "/.settings/data/rollback.json", nil, `{"version":1}`},
		{"GET", "/.settings/data/status.json", nil, ""}, {"POST", "/.settings/data/sizes/pause.json", nil, ""}, {"POST", "/.settings/data/sizes/rebuild.json", nil, ""},
	} {
		if r := ts.do(c); r.StatusCode != 401 || r.body != errorBody(textDenied) {
			t.Errorf("%s %s without a credential: %d %s", c.method, c.target, r.StatusCode, r.body)
		}
	}
}

// The answers of REST to writes that declared data concern.
func TestDataDocumentWrites(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, Rules: parseRules(t, `{"rules": {".read": true, ".write": true}}`)})
	admin := bearer("owner")
	if r := ts.do(call{"PUT", "/.settings/data.json", admin, documentA}); r.StatusCode != 200 {
		t.Fatal(r.body)
	}
	for _, c := range []struct {
		call
		status int
		answer string
		kept   string
	}{
		{call{"PUT", "/groups/g.json", nil, `{"members":{"ann":true,"bob":true}}`}, 200, `{"members":{"ann":true,"bob":true}}`, ""},
		{call{"GET", "/sizes.json", nil, ""}, 200, `{"g":2}`, ""},
		{call{"PUT", "/sizes/g.json", nil, `7`}, 401, refusedBy(detailedBody(textDenied, `kept by the definition "sizes"`), "sizes"), ""},
		{call{"PATCH", "/sizes.json", admin, `{"g":7,"h":8}`}, 200, `{"g":7,"h":8}`, "2"},
		{call{"GET", "/sizes.json", nil, ""}, 200, `{"g":2}`, ""},
		{call{"PUT", "/users/ann/login.json", nil, `"x"`}, 200, `"x"`, ""},
		{call{"PUT", "/users/bob/login.json", nil, `"x"`}, 409, refusedBy(errorBody("logins/x is taken"), "logins"), ""},
		{call{"DELETE", "/groups.json", nil, ""}, 200, "null", ""},
		{call{"GET", "/.json", nil, ""}, 200, `{"logins":{"x":"ann"},"users":{"ann":{"login":"x"}}}`, ""},
	} {
		r := ts.do(c.call)
		if r.StatusCode != c.status || r.body != c.answer || r.Header.Get("X-Dogwood-Kept") != c.kept {
			t.Errorf("%s %s: %d %s, kept %q; want %d %s, %q", c.method, c.target, r.StatusCode, r.body, r.Header.Get("X-Dogwood-Kept"), c.status, c.answer, c.kept)
		}
		if exposed := strings.Contains(r.Header.Get("Access-Control-Expose-Headers"), "X-Dogwood-Kept"); exposed != (c.kept != "") {
			t.Errorf("%s %s: pages of other origins may read it: %t", c.method, c.target, exposed)
		}
	}
	r := ts.do(call{"PUT", "/groups/h/members/ann.json?explain=true", admin, "true"})
	if !strings.Contains(r.body, `"derived":[{"by":"sizes","path":"/sizes/h","value":1}],"derivedTotal":1`) {
		t.Error(r.body)
	}
	if r := ts.do(call{"POST", "/.settings/data/sizes/pause.json", admin, ""}); r.StatusCode != 200 {
		t.Error(r.body)
	}
	for target, building := range map[string]string{"/sizes/g.json": "sizes", "/users.json": "", "/.json?shallow=true": "sizes"} {
		if r := ts.do(call{"GET", target, nil, ""}); r.Header.Get("X-Dogwood-Building") != building {
			t.Errorf("%s: building %q, want %q", target, r.Header.Get("X-Dogwood-Building"), building)
		}
	}
	r = ts.do(call{"PUT", "/groups.json?import=true", admin, `{"g":{"members":{"ann":true}}}`})
	if building := r.Header.Get("X-Dogwood-Building"); r.StatusCode != 200 || building != "sizes" {
		t.Errorf("an import: %d, building %q", r.StatusCode, building)
	}
	r = ts.do(call{"PUT", "/groups/g/members/bob.json?explain=true", admin, "true"})
	if !strings.Contains(r.body, `"building":["sizes"]`) {
		t.Error(r.body)
	}
}

// refusedBy returns the body of an error with the definition that refused the write.
func refusedBy(body, definition string) string {
	return strings.TrimSuffix(body, "\n}\n") + ",\n  \"definition\" : \"" + definition + "\"\n}\n"
}

// The ETag of an answer to a write is that of what was stored. If declared data put something else there
// than was sent, there is none.
func TestTagsOfDeclaredData(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, Rules: parseRules(t, `{"rules": {".read": true, ".write": true}}`)})
	const document = `{"format": "dogwood-data/1", "define": {
		"size": {"count": "/groups/$g/members/$u", "to": "/groups/$g/size"},
		"name": {"map": "/names/$g", "to": "/groups/$g/name", "value": "= data.val()"},
		"last": {"keep": 1, "at": "/log"}}}`
	if r := ts.do(call{"PUT", "/.settings/data.json", bearer("owner"), document}); r.StatusCode != 200 {
		t.Fatal(r.body)
	}
	ts.want("PUT", "/names/h.json", `"H"`, 200, `"H"`)
	for _, c := range []struct {
		method, path, body string
		tagged             bool
	}{
		{"PUT", "/groups/g", `{"members":{"ann":true}}`, false},
		{"PUT", "/groups/g", `{"members":{"ann":true},"size":1}`, true},
		{"PUT", "/groups/g/members/bob", `true`, true},
		{"PUT", "/groups/g/title", `"G"`, true},
		{"DELETE", "/groups/g", ``, true},
		{"DELETE", "/groups/h", ``, false},
		{"PUT", "/log", `{"a":1,"b":2}`, false},
		{"PUT", "/log", `{"b":2}`, true},
		{"POST", "/groups", `{"members":{"ann":true}}`, false},
		{"POST", "/groups", `{"title":"G"}`, true},
	} {
		r := ts.do(call{c.method, c.path + ".json", http.Header{"X-Firebase-Etag": {"true"}}, c.body})
		tag := r.Header.Get("ETag")
		if r.StatusCode != 200 || (tag != "") != c.tagged {
			t.Errorf("%s %s %s: %d %s, ETag %q, want one: %t", c.method, c.path, c.body, r.StatusCode, r.body, tag, c.tagged)
		}
		if tag == "" || c.method == "POST" {
			continue
		}
		if now := ts.do(call{"GET", c.path + ".json", http.Header{"X-Firebase-Etag": {"true"}}, ""}); now.Header.Get("ETag") != tag {
			t.Errorf("%s %s %s: ETag %q, and then %q of %s", c.method, c.path, c.body, tag, now.Header.Get("ETag"), now.body)
		}
	}
}
