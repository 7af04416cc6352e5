package server

import (
	"net/http"
	"testing"
	"time"
)

// A test stops the clock of a dev server, moves it in both directions, and lets
// it run again. It is one for all namespaces.
func TestClock(t *testing.T) {
	const running, stopped = "1700000000123", "4102444800000"
	ts := serveTest(t, Options{Dev: true, Now: func() time.Time { return time.UnixMilli(1700000000123) }})
	timestamps := func(want string) {
		t.Helper()
		ts.want("PUT", "/a.json?ns=one", `{".sv":"timestamp"}`, 200, want)
		ts.want("PUT", "/a.json?ns=two", `{".sv":"timestamp"}`, 200, want)
	}
	ts.want("GET", "/.settings/now.json", "", 200, "null")
	timestamps(running)
	ts.want("PUT", "/.settings/now.json", " "+stopped+"\n", 200, stopped)
	ts.want("GET", "/.settings/now.json", "", 200, stopped)
	timestamps(stopped)
	ts.want("PUT", "/.settings/now.json?print=silent", "0", 204, "")
	timestamps("0")
	for _, bad := range []string{"", "soon", `"1"`, "1.5", "1e3", "-1", "9007199254740992", "{}", "1 2"} {
		if r := ts.admin("PUT", "/.settings/now.json", bad); r.StatusCode != 400 {
			t.Errorf("PUT of %q: %d %s, want 400", bad, r.StatusCode, r.body)
		}
	}
	timestamps("0")
	ts.want("PUT", "/.settings/now.json", "null", 200, "null")
	ts.want("GET", "/.settings/now.json", "", 200, "null")
	timestamps(running)
	ts.want("POST", "/.settings/now.json", "0", 404, errorBody(textNotFound))
	if r := ts.do(call{"PUT", "/.settings/now.json", nil, "0"}); r.StatusCode != 401 || r.body != errorBody(textDenied) {
		t.Errorf("PUT without a credential: %d %s, want 401 and %s", r.StatusCode, r.body, textDenied)
	}
	timestamps(running)
}

// The rules of a dev server see the time at which its clock is stopped.
func TestClockInRules(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	ts.want("PUT", "/.settings/rules.json", `{"rules":{".read":"now === 5"}}`, 200, `{"status":"ok"}`)
	for now, status := range map[string]int{"5": 200, "6": 401, "null": 401} {
		ts.want("PUT", "/.settings/now.json", now, 200, now)
		if r := ts.do(call{"GET", "/a.json", nil, ""}); r.StatusCode != status {
			t.Errorf("GET at %s: %d %s, want %d", now, r.StatusCode, r.body, status)
		}
	}
}

// To a server that is not for development there is no such setting.
func TestClockOnlyInDev(t *testing.T) {
	ts := serveTest(t, Options{
		Namespaces: []string{"shop"}, AdminSecrets: []string{"sesame"},
		Now: func() time.Time { return time.UnixMilli(1700000000123) },
	})
	for _, header := range []http.Header{nil, {"Authorization": {"Bearer owner"}}, {"Authorization": {"Bearer sesame"}}} {
		for _, method := range []string{"GET", "HEAD", "PUT", "POST", "PATCH", "DELETE"} {
			got := ts.do(call{method, "/.settings/now.json", header, "0"})
			want := ts.do(call{method, "/.settings/unknown.json", header, "0"})
			if got.StatusCode != want.StatusCode || got.body != want.body || got.Header.Get("Allow") != want.Header.Get("Allow") {
				t.Errorf("%s now.json with %v: %d %s, and of an unknown setting %d %s", method, header, got.StatusCode, got.body, want.StatusCode, want.body)
			}
		}
	}
	sesame := http.Header{"Authorization": {"Bearer sesame"}}
	if r := ts.do(call{"PUT", "/.settings/now.json", sesame, "0"}); r.StatusCode != 404 || r.body != errorBody(textNotFound) {
		t.Errorf("PUT by an administrator: %d %s, want 404", r.StatusCode, r.body)
	}
	if r := ts.do(call{"PUT", "/a.json", sesame, `{".sv":"timestamp"}`}); r.body != "1700000000123" {
		t.Errorf("afterwards the time is %s", r.body)
	}
}
