package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/versions"
)

const (
	answerOK   = `{"status":"ok"}`
	rulesA     = "{\"rules\": {\".read\": true, \".write\": true}} // A"
	rulesB     = `{"rules": {"a": {".read": true, ".write": "'ab'.startsWith('a')"}}}`
	rulesWrong = "{\"rules\": {\n  \".read\": \"tr\",\n  \".write\": \"auth.uid = 'a'\"\n}}"
	textWrong  = `2:13: Unknown variable 'tr'.\n3:23: Rule expressions may not contain assignments.\n`
)

func bearer(secret string) http.Header {
	return http.Header{"Authorization": {"Bearer " + secret}}
}

func parseRules(t testing.TB, source string) *rules.Ruleset {
	t.Helper()
	r, err := rules.Parse(source)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// listed returns the versions of the rules of the default database, without what
// differs from run to run.
func (ts *testServer) listed(secret string) string {
	ts.t.Helper()
	r := ts.do(call{"GET", "/.settings/rules/versions.json", bearer(secret), ""})
	var list []versions.Version
	if err := json.Unmarshal([]byte(r.body), &list); err != nil {
		ts.t.Fatalf("versions: %d %s, %v", r.StatusCode, r.body, err)
	}
	var b strings.Builder
	for _, v := range list {
		fmt.Fprintf(&b, "%d %s %s of %d %q\n", v.Number, v.Author, v.Dialect, v.Restore, v.Comment)
	}
	return b.String()
}

func TestRulesHistory(t *testing.T) {
	ts := serveTest(t, Options{Namespaces: []string{"shop"}, AdminSecrets: []string{"sesame"}})
	want := func(method, target, body string, status int, answer string) result {
		t.Helper()
		r := ts.do(call{method, target, bearer("sesame"), body})
		if r.StatusCode != status || r.body != answer {
			t.Errorf("%s %s %.40s: %d %s, want %d %s", method, target, body, r.StatusCode, r.body, status, answer)
		}
		return r
	}
	want("GET", "/.settings/rules/versions.json", "", 200, "[]")
	want("PUT", "/.settings/rules.json?comment=first", rulesA, 200, answerOK)
	want("PUT", "/.settings/rules.json", rulesB, 400, detailedBody(`1:49: No such method/property 'startsWith'.\n`, `1:49: No such method/property 'startsWith'. Did you mean beginsWith?\n`))
	want("PUT", "/.settings/rules.json?dialect=wilddog&dryRun=true", rulesB, 200, answerOK)
	want("PUT", "/.settings/rules.json?dialect=wilddog", rulesB, 200, answerOK)
	want("PUT", "/.settings/rules.json", rulesWrong, 400, detailedBody(textWrong, strings.Replace(textWrong, "assignments.", "assignments. Did you mean ==?", 1)))
	want("GET", "/.settings/rules.json", "", 200, rulesB)
	want("GET", "/.settings/rules/versions/1.json", "", 200, rulesA)
	want("POST", "/.settings/rules/rollback.json", `{"version":1,"comment":"B is wrong"}`, 200, `{"status":"ok","version":3}`)
	want("POST", "/.settings/rules/rollback.json", `{"version":2}`, 200, `{"status":"ok","version":4}`)
	want("GET", "/.settings/rules.json", "", 200, rulesB)
	const versions = `4 admin secret wilddog of 2 ""
3 admin secret firebase of 1 "B is wrong"
2 admin secret wilddog of 0 ""
1 admin secret firebase of 0 "first"
`
	if got := ts.listed("sesame"); got != versions {
		t.Errorf("versions:\n%s\nwant\n%s", got, versions)
	}

	missing := errorBody("There is no such version of the rules.")
	want("POST", "/.settings/rules/rollback.json", `{"version":9}`, 404, missing)
	want("POST", "/.settings/rules/rollback.json", `{"version":"x"}`, 400, errorBody(textBadJSON))
	want("GET", "/.settings/rules/versions/9.json", "", 404, missing)
	want("GET", "/.settings/rules/versions/x.json", "", 404, errorBody(textNotFound))
	for _, query := range []string{"dialect=basic", "extensions=oldRoot", "comment=a%0Ab", "comment=" + strings.Repeat("x", maxComment+1)} {
		if r := ts.do(call{"PUT", "/.settings/rules.json?" + query, bearer("sesame"), rulesA}); r.StatusCode != 400 {
			t.Errorf("PUT with %.30s: %d %s, want 400", query, r.StatusCode, r.body)
		}
	}
	for _, c := range []call{
		{"GET", "/.settings/rules/versions.json", nil, ""},
		{"GET", "/.settings/rules/versions/1.json", nil, ""},
		{"POST", "/.settings/rules/rollback.json", nil, `{"version":1}`},
	} {
		if r := ts.do(c); r.StatusCode != 401 || r.body != errorBody(textDenied) {
			t.Errorf("%s %s without a credential: %d %s", c.method, c.target, r.StatusCode, r.body)
		}
	}
}

// An upload may say which rules it replaces.
func TestRulesIfMatch(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	put := func(tag, query, body string) result {
		t.Helper()
		h := bearer("owner")
		switch tag {
		case "":
		case "empty":
			h.Set("If-Match", "")
		default:
			h.Set("If-Match", tag)
		}
		return ts.do(call{"PUT", "/.settings/rules.json" + query, h, body})
	}
	first := put("", "", rulesA).Header.Get("ETag")
	if got := ts.admin("GET", "/.settings/rules.json", "").Header.Get("ETag"); got != first || !regexp.MustCompile(`^"[0-9a-f]{64}"$`).MatchString(got) {
		t.Errorf("ETag is %s after an upload that answered %s", got, first)
	}
	closed := `{"rules":{}}`
	changed := errorBody("The rules have changed.")
	for _, c := range []struct {
		tag, query, body string
		status           int
		answer           string
	}{
		{`"0"`, "", closed, 412, changed},
		{`""`, "", closed, 412, changed},
		{"empty", "", closed, 412, changed},
		{`"0"`, "?dryRun=true", closed, 412, changed},
		{first, "?dryRun=true", closed, 200, answerOK},
		{first, "", closed, 200, answerOK},
		{first, "", rulesA, 412, changed},
		{"*", "", rulesA, 200, answerOK},
	} {
		if r := put(c.tag, c.query, c.body); r.StatusCode != c.status || r.body != c.answer {
			t.Errorf("PUT%s %.20s with If-Match %.10s: %d %s, want %d", c.query, c.body, c.tag, r.StatusCode, r.body, c.status)
		}
	}
}

// The error of an upload has one line for each rule, as SDKs know it. The detail has all
// mistakes, and what is meant.
func TestUploadTellsAll(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	for _, c := range []struct{ body, text, detail string }{
		{
			`{"rules":{".read":"nul == a || b == 1"}}`, `1:20: Unknown variable 'nul'.\n`,
			`1:20: Unknown variable 'nul'. Did you mean null?\n1:27: Unknown variable 'a'.\n1:32: Unknown variable 'b'.\n`,
		},
		{`{"rules":{".raed":"true"}}`, `1:19: Expected '{'.\n`, `1:19: Expected '{'. Did you mean .read?\n`},
	} {
		ts.want("PUT", "/.settings/rules.json?dryRun=true", c.body, 400, detailedBody(c.text, c.detail))
	}
	ts.want("PUT", "/.settings/rules.json", `{"rules":{".read":"x == 1"}}`, 400, errorBody(`1:20: Unknown variable 'x'.\n`))
}

// An upload that fails leaves the rules in force, and all listeners.
func TestFailedUpload(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	ts.want("PUT", "/.settings/rules.json", `{"rules":{"a":{".read":true}}}`, 200, answerOK)
	s := ts.follow("/a.json")
	defer s.Close()
	s.want("event: put\ndata: {\"path\":\"/\",\"data\":null}\n\n")
	ts.want("PUT", "/.settings/rules.json", rulesWrong, 400, detailedBody(textWrong, strings.Replace(textWrong, "assignments.", "assignments. Did you mean ==?", 1)))
	ts.want("PUT", "/.settings/rules.json", `{"rules":`, 400, detailedBody(`1:10: Parse error.\n`, `1:10: Parse error: expected a value, found the end of the text\n`))
	ts.want("PUT", "/a.json", "1", 200, "1")
	s.want("event: put\ndata: {\"path\":\"/\",\"data\":1}\n\n")
	if r := ts.do(call{"GET", "/b.json", nil, ""}); r.StatusCode != 401 {
		t.Errorf("GET of what the rules in force deny: %d %s", r.StatusCode, r.body)
	}
	ts.want("PUT", "/.settings/rules.json", `{"rules":{}}`, 200, answerOK)
	s.want("event: cancel\ndata: \"Permission denied\"\n\n")
	s.wantEnd()
}

// Settings and the dialect of rules are there again after a restart.
func TestSettingsAreKept(t *testing.T) {
	o := Options{Dir: t.TempDir(), Dev: true, DefaultNamespace: "shop"}
	s := newTest(t, o)
	ts := &testServer{Server: s, t: t}
	for target, body := range map[string]string{
		"/.settings/defaultWriteSizeLimit.json":   `"small"`,
		"/.settings/strictTriggerValidation.json": `true`,
		"/.settings/rules.json?dialect=wilddog":   rulesB,
	} {
		ts.record(call{"PUT", target, bearer("owner"), body}, 200)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := serveTest(t, o)
	again.want("GET", "/.settings/defaultWriteSizeLimit.json", "", 200, `"small"`)
	again.want("GET", "/.settings/strictTriggerValidation.json", "", 200, `{"value":true}`)
	again.want("GET", "/.settings/rules.json", "", 200, rulesB)
	if got := again.listed("owner"); got != "1 owner wilddog of 0 \"\"\n" {
		t.Errorf("versions: %s", got)
	}
}

// Default rules hold where none were uploaded: in open databases, whose listens
// are decided again, and in those that are opened later.
func TestDefaultRules(t *testing.T) {
	open := parseRules(t, `{"rules":{".read":true}}`)
	shut := parseRules(t, `{"rules":{".read":"auth != null"}}`)
	ts := serveTest(t, Options{Dev: true, Rules: open, RulesOf: map[string]*rules.Ruleset{"own": shut}})
	status := func(ns string) int {
		t.Helper()
		return ts.do(call{"GET", "/a.json?ns=" + ns, nil, ""}).StatusCode
	}
	ts.want("PUT", "/.settings/rules.json?ns=given", `{"rules":{".read":true}}`, 200, answerOK)
	s, given := ts.follow("/a.json?ns=plain"), ts.follow("/a.json?ns=given")
	defer s.Close()
	defer given.Close()
	const null = "event: put\ndata: {\"path\":\"/\",\"data\":null}\n\n"
	s.want(null)
	given.want(null)
	if given, err := ts.GivenRules(); err != nil || !maps.Equal(given, map[string]int64{"given": 1}) {
		t.Errorf("GivenRules() = %v, %v", given, err)
	}
	if a, b := status("plain"), status("own"); a != 200 || b != 401 {
		t.Errorf("before the change: %d and %d", a, b)
	}
	if err := ts.SetDefaultRules(t.Context(), shut, map[string]*rules.Ruleset{"own": open, "given": shut}); err != nil {
		t.Fatal(err)
	}
	s.want("event: cancel\ndata: \"Permission denied\"\n\n")
	s.wantEnd()
	for ns, want := range map[string]int{"plain": 401, "own": 200, "given": 200, "later": 401} {
		if got := status(ns); got != want {
			t.Errorf("after the change, %s answers %d, want %d", ns, got, want)
		}
	}
	ts.want("PUT", "/a.json?ns=given", "1", 200, "1")
	given.want("event: put\ndata: {\"path\":\"/\",\"data\":1}\n\n")
	if err := ts.SetDefaultRules(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := status("plain"); got != 200 {
		t.Errorf("without rules, a development server answers %d", got)
	}
}
