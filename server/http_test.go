package server

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/tree"
)

func newReader(c net.Conn) *bufio.Reader { return bufio.NewReader(c) }

func TestGzip(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	long := `"` + strings.Repeat("long ", 1000) + `"`
	ts.want("PUT", "/long.json", long, 200, long)
	ts.want("PUT", "/short.json", `"short"`, 200, `"short"`)
	for _, c := range []struct {
		path, accept, want string
	}{
		{"/long.json", "gzip, deflate", "gzip"},
		{"/long.json", "gzip;q=0", ""},
		{"/long.json", "", ""},
		{"/short.json", "gzip", ""},
	} {
		r := ts.do(call{"GET", c.path, http.Header{"Accept-Encoding": {c.accept}}, ""})
		if got := r.Header.Get("Content-Encoding"); got != c.want || r.StatusCode != 200 || len(r.body) < 5 {
			t.Errorf("GET %s with Accept-Encoding %q: %d, %d bytes, encoding %q, want %q", c.path, c.accept, r.StatusCode, len(r.body), got, c.want)
		}
		if got := r.Header.Get("Vary"); got != "Accept-Encoding" {
			t.Errorf("GET %s: Vary is %q", c.path, got)
		}
	}
	if r := ts.do(call{"HEAD", "/long.json", http.Header{"Accept-Encoding": {"gzip"}}, ""}); r.ContentLength != int64(len(long)) || r.body != "" {
		t.Errorf("HEAD: length %d, body %q, want %d and none", r.ContentLength, r.body, len(long))
	}
}

// Browser code sees every answer, errors among them.
func TestCORS(t *testing.T) {
	ts := serveTest(t, Options{Namespaces: []string{"shop"}, Deactivated: []string{"old"}})
	for target, status := range map[string]int{
		"/a.json?ns=shop":               401,
		"/a.json?ns=none":               404,
		"/a.json?ns=old":                423,
		"/a.json?ns=_":                  400,
		"/a.b.json?ns=shop":             400,
		"/a":                            404,
		"/":                             200,
		"/.settings/rules.json?ns=shop": 401,
		"/a.json?" + strings.Repeat("x", 200_000): 414,
	} {
		r := ts.do(call{"GET", target, nil, ""})
		if r.StatusCode != status || r.Header.Get("Access-Control-Allow-Origin") != "*" || r.Header.Get("Access-Control-Expose-Headers") != "ETag, X-Firebase-Auth-Debug, X-Request-Id" {
			t.Errorf("GET %.60s: %d %v, want %d with CORS headers", target, r.StatusCode, r.Header, status)
		}
	}
	r := ts.do(call{"OPTIONS", "/a.json?ns=none", http.Header{"Access-Control-Request-Headers": {"x-other"}}, ""})
	if r.StatusCode != 200 || r.body != "" || r.Header.Get("Access-Control-Allow-Headers") != "x-other" || r.Header.Get("Access-Control-Max-Age") != "3600" {
		t.Errorf("preflight: %d %q %v", r.StatusCode, r.body, r.Header)
	}
	r = ts.do(call{"BREW", "/a.json?ns=shop", nil, ""})
	if r.StatusCode != 405 || r.Header.Get("Allow") != "DELETE, GET, PATCH, POST, PUT" || r.body != errorBody("Method Not Allowed") {
		t.Errorf("BREW: %d %v %s", r.StatusCode, r.Header, r.body)
	}
}

// Doors that dev mode leaves open are shut when serving.
func TestServeRefuses(t *testing.T) {
	ts := serveTest(t, Options{Namespaces: []string{"shop"}, AdminSecrets: []string{"sesame"}})
	owner := http.Header{"Authorization": {"Bearer owner"}}
	events := http.Header{"Accept": {"text/event-stream"}}
	token := "auth=" + unsigned(`{"sub":"ana"}`)
	for _, c := range []struct {
		method, target string
		header         http.Header
		status         int
		text           string
	}{
		{"GET", "/a.json", owner, 401, textUnauthorized},
		{"PUT", "/a.json", owner, 401, textUnauthorized},
		{"DELETE", "/a.json?access_token=owner", nil, 401, textUnauthorized},
		{"PATCH", "/a.json?" + token, nil, 401, textBadToken},
		{"POST", "/a.json?auth=owner", nil, 401, textBadToken},
		{"GET", "/a.json?" + token, events, 401, textBadToken},
		{"GET", "/a.json", events, 401, textDenied},
		{"GET", "/a.json?shallow=true", nil, 401, textDenied},
		{"GET", "/.settings/rules.json", owner, 401, textUnauthorized},
		{"GET", "/.settings/rules.json", nil, 401, textDenied},
		{"PUT", "/.settings/rules.json?" + token, nil, 401, textBadToken},
		{"PUT", "/.settings/rules.json", nil, 401, textDenied},
		{"PUT", "/.settings/defaultWriteSizeLimit.json", nil, 401, textDenied},
		{"PUT", "/.settings/strictTriggerValidation.json", nil, 401, textDenied},
		{"POST", "/.settings/functionTriggers.json", nil, 401, textDenied},
		{"GET", "/.settings/other.json", nil, 401, textDenied},
		{"GET", "/.inspect/databases.json", owner, 401, textUnauthorized},
		{"GET", "/.inspect/databases.json", nil, 401, textDenied},
		{"GET", "/.inspect/other.json", nil, 401, textDenied},
		{"GET", "/emulators", nil, 404, textNotFound},
		{"PUT", "/functions/disableBackgroundTriggers", nil, 404, textNotFound},
		{"GET", "/v1beta/projects/p/locations/-/instances", owner, 404, textNotFound},
		{"POST", "/v1beta/projects/p/locations/us-central1/instances?databaseId=x", owner, 404, textNotFound},
	} {
		r := ts.do(call{c.method, c.target, c.header, "1"})
		want := errorBody(c.text)
		if c.text == textBadToken && strings.Contains(c.target, token) {
			want = detailedBody(c.text, detailUnsigned)
		}
		if r.StatusCode != c.status || r.body != want {
			t.Errorf("%s %.60s: %d %s, want %d %s", c.method, c.target, r.StatusCode, r.body, c.status, c.text)
		}
	}
	sesame := http.Header{"Authorization": {"Bearer sesame"}}
	if r := ts.do(call{"PUT", "/a.json", sesame, "1"}); r.StatusCode != 200 {
		t.Errorf("PUT with the secret: %d %s", r.StatusCode, r.body)
	}
	if r := ts.do(call{"GET", "/.json?auth=sesame", nil, ""}); r.body != `{"a":1}` {
		t.Errorf("GET with the secret: %d %s", r.StatusCode, r.body)
	}
	if r := ts.do(call{"GET", "/.inspect/databases.json", sesame, ""}); r.body != `[{"name":"shop"}]` {
		t.Errorf("databases: %d %s", r.StatusCode, r.body)
	}
}

// No secret reaches the log, not even that of a request that fails.
func TestSecretsAreNotLogged(t *testing.T) {
	var log strings.Builder
	s := newTest(t, Options{Dev: true, Log: textLog(&log)})
	s.spaces.opts.Dir = "/does/not/exist" // so that opening a database fails
	ts := &testServer{Server: s, t: t}
	ts.record(call{"GET", "/a.json?auth=sesame&access_token=sesame", http.Header{"Authorization": {"Bearer sesame"}}, ""}, 500)
	if !strings.Contains(log.String(), "request failed") || strings.Contains(log.String(), "sesame") {
		t.Errorf("log is %q", log.String())
	}
}

func TestMethodOverride(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	ts.want("POST", "/a.json?X-HTTP-Method-Override=put", `{"x":1}`, 200, `{"x":1}`)
	ts.want("POST", "/a.json?x-http-method-override=GET", "", 200, `{"x":1}`)
	ts.want("POST", "/a.json?x-http-method-override=TRACE", "", 405, errorBody("Method Not Allowed"))
	ts.want("GET", "/a.json?x-http-method-override=DELETE", "", 200, `{"x":1}`)
}

func TestEchoes(t *testing.T) {
	now := time.UnixMilli(1700000000123)
	ts := serveTest(t, Options{Dev: true, Now: func() time.Time { return now }})
	ts.want("PUT", "/a.json", `{"b":{".sv":"timestamp"},"c":{},"d":null,"e":[1,2],".priority":3}`, 200, `{"b":1700000000123,"e":[1,2]}`)
	ts.want("PATCH", "/a.json", `{"z/y":{".sv":{"increment":2}},"e":null,"/b/":{"0":"x","1":"y"},"c/.priority":null}`, 200,
		`{"b":["x","y"],"c/.priority":null,"e":null,"z/y":2}`)
	ts.want("PATCH", "/a.json", `{}`, 200, `{}`)
	ts.want("PUT", "/a/.priority.json", `"p"`, 200, `"p"`)
	ts.want("GET", "/a.json?format=export", "", 200, `{".priority":"p","b":{"0":"x","1":"y"},"z":{"y":2}}`)
	ts.want("DELETE", "/a/.priority.json", "", 200, "null")
	ts.want("GET", "/a/.priority.json", "", 200, "null")
	ts.want("PATCH", "/a/.priority.json", `{"x":1}`, 400, errorBody(textBadPath))
	ts.want("POST", "/a/.priority.json", `1`, 400, errorBody(textBadPath))
	ts.want("PATCH", "/a.json", "null", 200, "null")
	ts.want("GET", "/.json", "", 200, "null")
}

func TestManagement(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, DefaultNamespace: "main"})
	describe := func(name, kind string) string {
		return `{"name":"projects/p/locations/us-central1/instances/` + name + `","project":"projects/p","databaseUrl":"http://localhost?ns=` + name + `","type":"` + kind + `","state":"ACTIVE"}`
	}
	ts.want("GET", "/v1beta/projects/p/locations/-/instances/main", "", 200, describe("main", "DEFAULT_DATABASE"))
	ts.want("POST", "/v1beta/projects/p/locations/us-central1/instances?databaseId=shop&validateOnly=true", "{}", 200, describe("shop", "USER_DATABASE"))
	ts.want("GET", "/.inspect/databases.json", "", 200, `[{"name":"main"}]`)
	ts.want("POST", "/v1beta/projects/p/locations/us-central1/instances?databaseId=shop", "{}", 200, describe("shop", "USER_DATABASE"))
	ts.want("GET", "/v1beta/projects/p/locations/-/instances?pageSize=100", "", 200,
		`{"instances":[`+describe("main", "DEFAULT_DATABASE")+`,`+describe("shop", "USER_DATABASE")+`]}`)
	ts.want("GET", "/v1beta/projects/p/other", "", 404, errorBody(textNotFound))
	ts.want("PUT", "/functions/disableBackgroundTriggers", "", 200, `{"enabled":false}`)
	if r := ts.admin("GET", "/emulators", ""); !strings.Contains(r.body, `"database":{"name":"database","host":"127.0.0.1","port":`) {
		t.Errorf("emulators: %s", r.body)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	ts := serveTest(t, Options{Dev: true})
	ts.want("PUT", "/.settings/defaultWriteSizeLimit.json", `"small"`, 200, `"small"`)
	ts.want("GET", "/.settings/defaultWriteSizeLimit.json", "", 200, `"small"`)
	ts.want("GET", "/.settings/defaultWriteSizeLimit.json?ns=other", "", 200, `"large"`)
	for _, bad := range []string{`"tiny"`, `"huge"`, `small`, `5`, ``} {
		if r := ts.admin("PUT", "/.settings/defaultWriteSizeLimit.json", bad); r.StatusCode != 400 {
			t.Errorf("defaultWriteSizeLimit %s: %d %s, want 400", bad, r.StatusCode, r.body)
		}
	}
	ts.want("PUT", "/.settings/strictTriggerValidation.json", `true`, 200, `true`)
	ts.want("GET", "/.settings/strictTriggerValidation.json", "", 200, `{"value":true}`)
	ts.want("POST", "/.settings/functionTriggers.json", `{"name":"f"}`, 501, errorBody(errNoTriggers.text))
	ts.want("PUT", "/.settings/functionTriggers.json", `{"name":"f"}`, 501, errorBody(errNoTriggers.text))
	ts.want("GET", "/.settings/nothing.json", "", 404, errorBody(textNotFound))
	ts.want("PUT", "/.settings/rules.json?print=silent", `{"rules":{".read":true}}`, 204, "")
	ts.want("PUT", "/?ns="+emulatorNamespace+"/.settings/rules.json?dryRun=true", `{"rules":{}}`, 200, `{"status":"ok"}`)
	ts.want("GET", "/.settings/rules.json", "", 200, `{"rules":{".read":true}}`)
	ts.want("PUT", "/.settings/rules.json", strings.Repeat(" ", maxRulesBytes+1), 400, errorBody(`1:1: Rules are larger than 1 MiB.\n`))
	ts.want("PUT", "/.settings/rules.json", strings.Repeat(" ", 1<<20+1), 400, errorBody(`1:1: Rules are larger than 1 MiB.\n`))
	if r := ts.do(call{"PUT", "/.settings/rules.json", nil, `{"rules":{}}`}); r.StatusCode != 401 {
		t.Errorf("rules without a credential: %d, want 401", r.StatusCode)
	}
}

// Paths that look like reserved ones lead nowhere else.
func TestReservedPaths(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	for _, path := range []string{"//.settings/rules.json", "/%2Esettings/rules.json", "/a/.settings/rules.json", "/.info/connected.json", "/.lp.json", "/.ws.json", "/a/../b.json", "/a/%2e%2e/b.json", "/a%00b.json", "/%ff.json", "/.priority/a.json"} {
		ts.want("GET", path, "", 400, errorBody(textBadPath))
	}
	ts.want("GET", "/a%zz.json", "", 400, "400 Bad Request")
	ts.want("PUT", "/x%2Fy.json", "1", 200, "1")
	ts.want("GET", "/x.json", "", 200, `{"y":1}`)
}

// The key that a POST adds counts for the depth of a path.
func TestPostTooDeep(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	deepest := strings.Repeat("/k", tree.MaxDepth)
	for _, c := range []struct{ target, body string }{
		{deepest + ".json", "1"},
		{deepest + ".json", `"text"`},
		{deepest + ".json", "null"},
		{deepest + ".json", `{".value":1,".priority":2}`},
		{deepest + ".json?explain=true", "1"},
		{deepest[2:] + ".json", `{"a":1}`},
	} {
		ts.want("POST", c.target, c.body, 400, errorBody(textTooDeep))
	}
	ts.want("GET", "/.json", "", 200, "null")
	ts.want("PUT", deepest+".json", "1", 200, "1")
	if r := ts.admin("POST", deepest[2:]+".json", "1"); r.StatusCode != 200 {
		t.Errorf("POST where the child has %d keys: %d %s", tree.MaxDepth, r.StatusCode, r.body)
	}
}

// After Close requests are refused, and may be tried elsewhere.
func TestClosedServer(t *testing.T) {
	s := newTest(t, Options{Dev: true})
	ts := &testServer{Server: s, t: t}
	ts.record(call{"PUT", "/a.json", nil, "1"}, 200)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r := ts.record(call{"GET", "/a.json", nil, ""}, 503); r.Header().Get("Retry-After") == "" {
		t.Error("a refusal without Retry-After")
	}
}
