package server

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"pgregory.net/rapid"
)

const debugSecret = "the-secret-of-debug-tokens"

const debugRules = `{"rules": {
  "open": {".read": true},
  "users": {"$uid": {
    ".read": "auth.uid === $uid",
    ".write": "auth.uid === $uid && newData.isString()"
  }},
  "größe": {".read": "auth.uid === '100%' && true"}
}}`

// debugToken returns a token that was signed with a secret just now.
func debugToken(t *testing.T, claims jwt.MapClaims) string {
	t.Helper()
	all := jwt.MapClaims{"iat": time.Now().Unix() - 10}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, changed(all, claims)).SignedString([]byte(debugSecret))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// ofAna are the claims of a token for ana that wants to be told.
func ofAna(changes jwt.MapClaims) jwt.MapClaims {
	return changed(jwt.MapClaims{"v": 0, "d": jwt.MapClaims{"uid": "ana"}, "debug": true}, changes)
}

// debugTest serves with debugRules.
func debugTest(t *testing.T) *testServer {
	t.Helper()
	ts := serveTest(t, Options{Namespaces: []string{"shop"}, AdminSecrets: []string{debugSecret}})
	if r := ts.do(call{"PUT", "/.settings/rules.json", bearer(debugSecret), debugRules}); r.StatusCode != 200 {
		t.Fatalf("set rules: %d %s", r.StatusCode, r.body)
	}
	return ts
}

// The header tells what the rules decided about the request, and why.
func TestDebugHeader(t *testing.T) {
	ts := debugTest(t)
	token := debugToken(t, ofAna(nil))
	etag := http.Header{"If-Match": {"x"}}
	for _, c := range []struct {
		call
		status int
		want   string
	}{
		{call{"GET", "/open.json", nil, ""}, 200, "read /open: /open/.read (2:21) is true"},
		{call{"HEAD", "/open.json", nil, ""}, 200, "read /open: /open/.read (2:21) is true"},
		{call{"GET", "/users/bo.json", nil, ""}, 401, "read /users/bo: /users/$uid/.read (4:14) is false"},
		{call{"GET", "/elsewhere.json", nil, ""}, 401, "read /elsewhere: there is no .read rule on the way to it"},
		{call{"PUT", "/users/ana.json", nil, `"a"`}, 200, "write /users/ana: /users/$uid/.write (5:15) is true"},
		{call{"PUT", "/users/ana.json", nil, "1"}, 401, "write /users/ana: /users/$uid/.write (5:15) is false, because of: newData.isString()"},
		{call{"PUT", "/users/ana.json", etag, `"b"`}, 412, "read /users/ana: /users/$uid/.read (4:14) is true; write /users/ana: /users/$uid/.write (5:15) is true"},
		{call{"DELETE", "/users/ana.json", nil, ""}, 401, "write /users/ana: /users/$uid/.write (5:15) is false, because of: newData.isString()"},
		{call{"PATCH", "/users.json", nil, `{"ana":"b","bo":"c"}`}, 401, "write /users/ana and 1 more: /users/$uid/.write (5:15) is false for /users/bo, because of: auth.uid === $uid"},
		{call{"PUT", "/open.json", nil, "1"}, 401, "write /open: there is no .write rule on the way to it"},
		{call{"GET", "/gr%C3%B6%C3%9Fe.json", nil, ""}, 401, "read /gr%C3%B6%C3%9Fe: /gr%C3%B6%C3%9Fe/.read (7:22) is false, because of: auth.uid === '100%25'"},
		{call{"GET", "/.settings/rules.json", nil, ""}, 401, ""},
	} {
		c.target += "?auth=" + token
		r := ts.do(c.call)
		if got := r.Header.Get(debugHeader); r.StatusCode != c.status || got != c.want {
			t.Errorf("%s %.40s %s: %d, %q, want %d, %q", c.method, c.target, c.body, r.StatusCode, got, c.status, c.want)
		}
	}
}

// A stream has the header too, also one that shares its decision with another.
func TestDebugStreams(t *testing.T) {
	ts := debugTest(t)
	token := debugToken(t, ofAna(nil))
	for _, c := range []struct{ path, want string }{
		{"/users/ana", "read /users/ana: /users/$uid/.read (4:14) is true"},
		{"/users/ana", "read /users/ana: /users/$uid/.read (4:14) is true"},
		{"/users/bo", "read /users/bo: /users/$uid/.read (4:14) is false"},
	} {
		conn, req := ts.send(call{"GET", c.path + ".json?auth=" + token, http.Header{"Accept": {"text/event-stream"}}, ""})
		defer conn.Close()
		r, err := http.ReadResponse(bufio.NewReader(conn), req)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Header.Get(debugHeader); got != c.want {
			t.Errorf("stream of %s: %q, want %q", c.path, got, c.want)
		}
	}
}

// Only a legacy token that was verified asks for the header, and only about
// decisions.
func TestDebugIsForVerifiedTokens(t *testing.T) {
	ts := debugTest(t)
	const told = "read /open: /open/.read (2:21) is true"
	for name, c := range map[string]struct{ query, want string }{
		"legacy token":        {"auth=" + debugToken(t, ofAna(nil)), told},
		"without debug":       {"auth=" + debugToken(t, ofAna(jwt.MapClaims{"debug": nil})), ""},
		"debug: false":        {"auth=" + debugToken(t, ofAna(jwt.MapClaims{"debug": false})), ""},
		"debug is text":       {"auth=" + debugToken(t, ofAna(jwt.MapClaims{"debug": "true"})), ""},
		"debug is a variable": {"auth=" + debugToken(t, ofAna(jwt.MapClaims{"debug": nil, "d": jwt.MapClaims{"debug": true}})), ""},
		"custom token":        {"auth=" + debugToken(t, jwt.MapClaims{"uid": "ana", "debug": true}), ""},
		"administrator":       {"auth=" + debugToken(t, ofAna(jwt.MapClaims{"admin": true})), ""},
		"as somebody": {
			"auth_variable_override=null&auth=" + debugToken(t, ofAna(jwt.MapClaims{"admin": true})), told,
		},
		"forged":  {"auth=" + debugToken(t, ofAna(nil)) + "x", ""},
		"nobody":  {"", ""},
		"expired": {"auth=" + debugToken(t, ofAna(jwt.MapClaims{"exp": time.Now().Unix() - 3600})), ""},
	} {
		if got := ts.do(call{"GET", "/open.json?" + c.query, nil, ""}).Header.Get(debugHeader); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	dev := serveTest(t, Options{Dev: true})
	r := dev.do(call{"GET", "/a.json?auth=" + unsigned(`{"v":0,"d":{"uid":"ana"},"debug":true}`), nil, ""})
	if got := r.Header.Get(debugHeader); r.StatusCode != 200 || got != "" {
		t.Errorf("a token that nobody verified: %d, %q", r.StatusCode, got)
	}
}

// Whatever is told, the header is short, printable, and reads as what was told.
func TestDebugText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		decisions := rapid.SliceOfN(rapid.StringN(0, 900, -1), 1, 4).Draw(t, "decisions")
		var d debugText
		last, whole := "", ""
		for _, text := range decisions {
			d.add(text)
			if text != last && whole != "" {
				whole += "; "
			}
			if text != last {
				whole += text
			}
			last = text
		}
		got := d.String()
		if len(got) > maxDebug || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%d bytes: %q", len(got), got)
		}
		begin, cut := got, len(got) > maxDebug-3-len(debugCut) && strings.HasSuffix(got, debugCut)
		if cut {
			begin = strings.TrimSuffix(got, debugCut)
		}
		plain, err := url.PathUnescape(begin)
		if err != nil || !strings.HasPrefix(whole, plain) || !cut && plain != whole {
			t.Fatalf("%q reads as %q, %v, want %q", got, plain, err, whole)
		}
	})
}
