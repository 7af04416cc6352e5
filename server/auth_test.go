package server

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/server/auth"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// unsigned returns a token with the given claims and no signature.
func unsigned(claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode([]byte(claims)) + "."
}

// signInTo returns the SignIn of a session without a connection.
func signInTo(s *Server) func(context.Context, dsync.Credential) (dsync.Caller, dsync.SignInInfo, error) {
	return func(_ context.Context, c dsync.Credential) (dsync.Caller, dsync.SignInInfo, error) {
		id, err := s.signIn("", c)
		return id.Caller, dsync.SignInInfo{Data: id.data()}, err
	}
}

// callerWith asks for the caller of a request with a query, and with an
// Authorization header unless it is "".
func callerWith(s *Server, query url.Values, header string) (dsync.Caller, error) {
	r := httptest.NewRequest("GET", "/a.json?"+query.Encode(), nil)
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	id, err := s.identify(r.Header, parseParams(r.URL.RawQuery), "")
	return id.Caller, err
}

func TestDevCallers(t *testing.T) {
	s := newTest(t, Options{Dev: true})
	admin := func(query url.Values, header string) {
		t.Helper()
		if c, err := callerWith(s, query, header); err != nil || !c.Admin {
			t.Errorf("%v %q: caller %+v, %v, want the administrator", query, header, c, err)
		}
	}
	admin(nil, "Bearer owner")
	admin(nil, "bearer anything")
	admin(url.Values{"access_token": {"owner"}}, "")
	admin(url.Values{"auth": {"garbage"}}, "Bearer owner") // the header comes first
	admin(url.Values{"auth": {unsigned(`{"v":0,"admin":true}`)}}, "")

	user := func(claims, want string) {
		t.Helper()
		c, err := callerWith(s, url.Values{"auth": {unsigned(claims)}}, "")
		if err != nil || c.Admin || c.Auth.JSON != want {
			t.Errorf("claims %s: auth %s, %v, want %s", claims, c.Auth.JSON, err, want)
		}
	}
	user(`{"sub":"ana","iat":0,"exp":3600,"firebase":{"sign_in_provider":"custom"}}`,
		`{"provider":"custom","token":{"exp":3600,"firebase":{"sign_in_provider":"custom"},"iat":0,"sub":"ana"},"uid":"ana"}`)
	user(`{"user_id":"ana"}`, `{"token":{"user_id":"ana"},"uid":"ana"}`)
	user(`{"v":0,"d":{"uid":"ana","x":"<&>"}}`, `{"uid":"ana","x":"<&>"}`)
	user(`{"sub":"bo","sub":"ana"}`, `{"token":{"sub":"ana"},"uid":"ana"}`)
	user(`{"sub":"ana","d":{"uid":"bo"}}`, `{"token":{"d":{"uid":"bo"},"sub":"ana"},"uid":"ana"}`)

	if c, err := callerWith(s, nil, ""); err != nil || c.Admin || !c.Auth.IsNull() {
		t.Errorf("without credentials: caller %+v, %v, want nobody", c, err)
	}
	if c, err := callerWith(s, url.Values{"auth": {unsigned(`{"sub":"ana"}`)}}, ""); err != nil || c.Auth.UID != "ana" || c.Auth.Token != `{"sub":"ana"}` {
		t.Errorf("caller %+v, %v, want uid and claims of ana", c, err)
	}
}

func TestBadTokens(t *testing.T) {
	s := newTest(t, Options{Dev: true})
	for _, token := range []string{
		"garbage", "a.b.c", "..", unsigned(`{}`), unsigned(`[]`), unsigned(`null`), unsigned(`{"sub":5}`),
		unsigned(`{"sub":"ana"}x`), unsigned(`{"sub":"ana"`), unsigned(`{"admin":true}`), "x" + unsigned(`{"sub":"ana"}`),
		unsigned(`{"sub":"` + strings.Repeat("a", auth.MaxTokenBytes) + `"}`),
	} {
		if c, err := callerWith(s, url.Values{"auth": {token}}, ""); !errors.Is(err, errBadToken) {
			t.Errorf("auth=%.40s: caller %+v, %v, want %v", token, c, err, errBadToken)
		}
	}
}

// Nothing that dev mode believes is believed when serving.
func TestServeBelievesOnlySecrets(t *testing.T) {
	s := newTest(t, Options{AdminSecrets: []string{"", "first", "second"}})
	for _, secret := range []string{"first", "second"} {
		for _, try := range []struct {
			query  url.Values
			header string
		}{
			{nil, "Bearer " + secret},
			{url.Values{"access_token": {secret}}, ""},
			{url.Values{"auth": {secret}}, ""},
		} {
			if c, err := callerWith(s, try.query, try.header); err != nil || !c.Admin {
				t.Errorf("%v: caller %+v, %v, want the administrator", try, c, err)
			}
		}
	}
	refused := []string{"owner", "Second", "secon", "second ", "null", unsigned(`{"sub":"ana"}`), unsigned(`{"v":0,"admin":true}`)}
	for _, token := range refused {
		if _, err := callerWith(s, url.Values{"access_token": {token}}, ""); !errors.Is(err, errUnauthorized) {
			t.Errorf("access_token=%s: %v, want %v", token, err, errUnauthorized)
		}
		if _, err := callerWith(s, url.Values{"auth": {token}}, ""); !errors.Is(err, errBadToken) {
			t.Errorf("auth=%s: %v, want %v", token, err, errBadToken)
		}
		for _, c := range []dsync.Credential{{Token: token}, {Token: token, Admin: true}, {Token: token, Admin: true, NoAuth: true}} {
			id, err := s.signIn("", c)
			var refusal *fault.TokenError
			if !errors.As(err, &refusal) || refusal.Status != "invalid_token" || id.Admin || !id.Auth.IsNull() {
				t.Errorf("sign in with %+v: %+v, %v, want a refusal", c, id, err)
			}
		}
	}
	if _, err := callerWith(s, nil, "Bearer owner"); !errors.Is(err, errUnauthorized) {
		t.Errorf("Bearer owner: %v, want %v", err, errUnauthorized)
	}
	if _, err := s.signIn("", dsync.Credential{Admin: true}); err == nil {
		t.Error("the empty credential is an administrator's")
	}
}

// Without secrets no credential is an administrator's, not even an empty one.
func TestServeWithoutSecrets(t *testing.T) {
	s := newTest(t, Options{AdminSecrets: []string{""}})
	for _, header := range []string{"Bearer", "Bearer ", "Bearer  "} {
		if c, _ := callerWith(s, nil, header); c.Admin {
			t.Errorf("%q is an administrator", header)
		}
	}
	for _, decide := range []func(ns, text string) (auth.Identity, error){s.auth.Bearer, s.auth.Token} {
		if id, err := decide("", ""); err == nil {
			t.Errorf("the empty secret is accepted: %+v", id)
		}
	}
}

func TestOverride(t *testing.T) {
	s := newTest(t, Options{Dev: true})
	with := func(override string) (dsync.Caller, error) {
		return callerWith(s, url.Values{"auth_variable_override": {override}}, "Bearer owner")
	}
	if c, err := with(`{"uid":"ana","token":{"a":1}}`); err != nil || c.Admin || c.Auth.UID != "ana" || c.Auth.Token != `{"a":1}` {
		t.Errorf("caller %+v, %v, want ana without an administrator's rights", c, err)
	}
	if c, err := with(" null "); err != nil || c.Admin || !c.Auth.IsNull() {
		t.Errorf("caller %+v, %v, want nobody", c, err)
	}
	for _, bad := range []string{"", "{", "[]", "5", `"ana"`, "{} {}"} {
		if _, err := with(bad); err == nil || err.(*statusError).status != http.StatusBadRequest {
			t.Errorf("override %q: %v, want a bad request", bad, err)
		}
	}
	if _, err := callerWith(s, url.Values{"auth_variable_override": {"null"}}, ""); !errors.Is(err, errUnauthorized) {
		t.Errorf("override without credentials: %v, want %v", err, errUnauthorized)
	}
	if _, err := callerWith(s, url.Values{"auth_variable_override": {"null"}, "auth": {unsigned(`{"sub":"ana"}`)}}, ""); !errors.Is(err, errUnauthorized) {
		t.Errorf("override as a user: %v, want %v", err, errUnauthorized)
	}
}

func TestSignIn(t *testing.T) {
	s := newTest(t, Options{Dev: true})
	signIn := func(c dsync.Credential) identity {
		t.Helper()
		id, err := s.signIn("", c)
		if err != nil {
			t.Errorf("sign in with %+v: %v", c, err)
		}
		return id
	}
	id := signIn(dsync.Credential{Token: unsigned(`{"sub":"ana","exp":3600}`)})
	if id.Auth.UID != "ana" || id.credential.CanEnd() {
		t.Errorf("%+v, want ana for good", id)
	}
	if want := `{"auth":{"token":{"exp":3600,"sub":"ana"},"uid":"ana"},"expires":3600}`; id.data() != want {
		t.Errorf("reply %s, want %s", id.data(), want)
	}
	if id := signIn(dsync.Credential{Token: "owner", Admin: true}); !id.Admin || id.data() != `{"auth":null}` {
		t.Errorf("owner: %+v, want the administrator", id)
	}
	if id := signIn(dsync.Credential{Token: "owner", Admin: true, AuthVar: `{"uid":"ana"}`}); id.Admin || id.Auth.UID != "ana" {
		t.Errorf("owner as ana: %+v", id)
	}
	if id := signIn(dsync.Credential{Token: "owner", Admin: true, NoAuth: true}); id.Admin || !id.Auth.IsNull() {
		t.Errorf("owner as nobody: %+v", id)
	}
	if _, err := s.signIn("", dsync.Credential{Token: "owner"}); err == nil {
		t.Error("owner is a user's token")
	}
	if _, err := s.signIn("", dsync.Credential{Token: unsigned(`{"sub":"ana"}`), AuthVar: `{"uid":"bo"}`}); err == nil {
		t.Error("a user may act as somebody else")
	}
}

// Whom a user wants to act as is not parsed. It can be as long as a message, and takes many
// times as much memory when it is parsed. Administrators can ask for what fits into a token.
func TestRefusedAuthVarIsNotParsed(t *testing.T) {
	s := newTest(t, Options{Dev: true})
	long := `{"a":[` + strings.Repeat(`{},`, 1<<20) + `{}]}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, c := range []dsync.Credential{
		{Token: unsigned(`{"sub":"ana"}`), AuthVar: long},
		{Token: "owner", Admin: true, AuthVar: long},
	} {
		if id, err := s.signIn("", c); err == nil {
			t.Errorf("%.20s is accepted as another user: %+v", c.Token, id.Auth.UID)
		}
	}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
		t.Errorf("refusing them took %d bytes", taken)
	}
}

// A credential in the wrong place, and a token of an emulator, are refused in words that say
// what is accepted.
func TestRefusedTokenHint(t *testing.T) {
	ts := serveTest(t, Options{AdminSecrets: []string{"first"}, DefaultNamespace: "demo", Namespaces: []string{"demo"}})
	expired := unsigned(`{"sub":"ana","iat":0,"exp":3600}`)
	if r := ts.do(call{"GET", "/a.json?auth=" + expired, nil, ""}); r.StatusCode != 401 ||
		!strings.Contains(r.body, textBadToken) || !strings.Contains(r.body, "only dogwood dev accepts such tokens") {
		t.Errorf("an unsigned token: %d %s", r.StatusCode, r.body)
	}
	if e := wireTokenError(auth.ErrUnsigned); e.Status != wire.StatusInvalidToken || !strings.Contains(e.Text, "only dogwood dev") {
		t.Errorf("an unsigned token, realtime: %+v", e)
	}
	for bearer, hinted := range map[string]bool{expired: true, "secret": false} {
		r := ts.do(call{"GET", "/a.json", http.Header{"Authorization": {"Bearer " + bearer}}, ""})
		if r.StatusCode != 401 || !strings.Contains(r.body, textUnauthorized) || strings.Contains(r.body, "auth=") != hinted {
			t.Errorf("Bearer %s: %d %s", bearer, r.StatusCode, r.body)
		}
	}
}

// A denial says that an Authorization header of another scheme was not read, unless the
// request has another credential.
func TestIgnoredHeaderIsTold(t *testing.T) {
	ts := serveTest(t, Options{Namespaces: []string{"shop"}, AdminSecrets: []string{"sesame"}})
	for header, want := range map[string]string{
		"":               errorBody(textDenied),
		"sesame":         detailedBody(textDenied, detailScheme),
		"Basic c2VzYW1l": detailedBody(textDenied, detailScheme),
		"Bearer wrong":   errorBody(textUnauthorized),
	} {
		h := http.Header{}
		if header != "" {
			h.Set("Authorization", header)
		}
		for _, path := range []string{"/a.json", "/.settings/rules.json"} {
			if r := ts.do(call{"GET", path, h, ""}); r.StatusCode != 401 || r.body != want {
				t.Errorf("GET %s with %q: %d %s, want %s", path, header, r.StatusCode, r.body, want)
			}
		}
	}
	other := http.Header{"Authorization": {"Basic c2VzYW1l"}}
	if r := ts.do(call{"GET", "/a.json?auth=sesame", other, ""}); r.StatusCode != 200 {
		t.Errorf("with auth=: %d %s", r.StatusCode, r.body)
	}
}
