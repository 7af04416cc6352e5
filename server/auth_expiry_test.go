package server

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/server/auth"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/tree"
)

// The tests in this file pretend that time goes by.

const expirySecret = "the-secret-of-the-tests"

// signed returns a custom token of ana.
func signed(t *testing.T, life time.Duration) string {
	t.Helper()
	token, err := auth.CustomToken{UID: "ana", Life: life}.Sign(expirySecret, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// expiryOptions are those of a server on which a user may use what is hers.
func expiryOptions(t *testing.T) Options {
	t.Helper()
	parsed, err := rules.Parse(matrixRules)
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Dir: t.TempDir(), Namespaces: []string{"test"}, DefaultNamespace: "test",
		AdminSecrets: []string{expirySecret}, Rules: parsed,
	}
}

const (
	acExpired  = `{"t":"d","d":{"a":"ac","b":{"s":"expired_token","d":"Auth token is expired."}}}`
	anaCancel  = `{"t":"d","d":{"a":"c","b":{"p":"users/ana"}}}`
	anaDenied  = `"b":{"s":"permission_denied","d":"Permission denied"}}}`
	anaListens = `{"p":"/users/ana","h":""}`
	anaWrites  = `{"p":"/users/ana","d":1}`
	anaLeaves  = `{"p":"/users/ana","d":"gone"}`
)

func TestSocketTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := onPipe(t, expiryOptions(t))
		c := n.connect("")
		c.do("auth", credentialBody(signed(t, 10*time.Second)))
		c.do("p", anaWrites)
		c.request("q", anaListens)
		c.next()
		c.next()
		began := time.Now()
		c.want(acExpired)
		c.want(anaCancel)
		if d := time.Since(began); d != 10*time.Second {
			t.Errorf("expired after %s, want 10s", d)
		}
		c.request("p", anaWrites)
		if got := c.next(); !strings.HasSuffix(got, anaDenied) {
			t.Errorf("a write after the end: %s", got)
		}
		c.do("auth", credentialBody(signed(t, time.Minute)))
		c.do("p", anaWrites)
		c.ws.Close()
	})
}

// A fresh token takes the place of the one before it, and who signs out has
// nothing that expires.
func TestSocketSignsInAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := onPipe(t, expiryOptions(t))
		for _, next := range []func(*wsClient){
			func(c *wsClient) { c.do("auth", credentialBody(signed(t, time.Hour))) },
			func(c *wsClient) { c.do("gauth", credentialBody(expirySecret)) },
			func(c *wsClient) { c.do("unauth", `{}`) },
		} {
			c := n.connect("")
			c.do("auth", credentialBody(signed(t, 10*time.Second)))
			time.Sleep(9 * time.Second)
			next(c)
			time.Sleep(5 * time.Second)
			c.do("s", `{"c":{}}`) // the first to come is its answer
			c.ws.Close()
		}
	})
}

// A refused token leaves the client signed in as before, for as long as before.
func TestSocketKeepsItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := onPipe(t, expiryOptions(t))
		c := n.connect("")
		c.do("auth", credentialBody(signed(t, 10*time.Second)))
		c.request("auth", credentialBody("nonsense"))
		if got := c.next(); !strings.Contains(got, "invalid_token") {
			t.Errorf("nonsense: %s", got)
		}
		c.do("p", anaWrites)
		c.want(acExpired)
		c.ws.Close()
	})
}

func TestPollTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := onPipe(t, expiryOptions(t))
		b := n.browser()
		b.start("")
		b.next(ask(1, "auth", credentialBody(signed(t, 10*time.Second))))
		b.next(ask(2, "q", anaListens))
		began := time.Now()
		var got []string
		for len(got) < 2 {
			got = append(got, b.next()...)
		}
		if d := time.Since(began); d != 10*time.Second || got[0] != acExpired || got[1] != anaCancel {
			t.Errorf("after %s: %v", d, got)
		}
		b.get("disconn=t&id=" + b.id + "&pw=" + b.password)
		b.http.CloseIdleConnections()
	})
}

func TestStreamTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := pipeTest(t, expiryOptions(t))
		s := ts.follow("/users/ana.json?auth=" + url.QueryEscape(signed(t, 100*time.Second)))
		began := time.Now()
		s.want("event: put\ndata: {\"path\":\"/\",\"data\":null}\n\n")
		for range 3 {
			s.want(eventKeepAlive) // looking at the token does not hold them up
		}
		s.want(eventRevoked)
		s.wantEnd()
		if d := time.Since(began); d != 100*time.Second {
			t.Errorf("ended after %s, want 100s", d)
		}
		s.Close()
		if err := ts.shutdown(); err != nil {
			t.Error(err)
		}
	})
}

// A socket ends within a second after its credential was revoked.
func TestRevokedWhileConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := expiryOptions(t)
		n := onPipe(t, o)
		accounts := &issuers{dir: o.Dir, accounts: map[string]*rsa.PrivateKey{}}
		accounts.account(t, "backend")
		access := exchange(t, n, accounts.assertion(t, "backend"))
		for _, c := range []struct {
			name, action, credential string
			revoke                   func() error
		}{
			{"user", "auth", signed(t, time.Hour), func() error { return auth.RevocationsOf(o.Dir).Revoke("ana", time.Now().Add(time.Second)) }},
			{"account", "gauth", access, func() error { return auth.AccountsOf(o.Dir).Revoke("backend") }},
		} {
			ws := n.connect("")
			ws.do(c.action, credentialBody(c.credential))
			ws.do("p", anaWrites)
			ws.do("o", anaLeaves)
			time.Sleep(20 * time.Second)
			ws.do("p", anaWrites)
			leaves := n.connect("")
			leaves.do(c.action, credentialBody(c.credential))
			leaves.do("o", anaLeaves)
			if err := c.revoke(); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			leaves.ws.Close()
			ws.want(acExpired)
			if d := time.Since(began); d > time.Second {
				t.Errorf("%s: ended after %s, want within a second", c.name, d)
			}
			ws.ws.Close()
			synctest.Wait()
			if got := read(t, n.Server, "/users/ana"); got != "1" {
				t.Errorf("%s: onDisconnect of a revoked credential was done: %s", c.name, got)
			}
		}
	})
}

// So do event streams and feeds. What others hold open goes on.
func TestRevokedWhileStreaming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := expiryOptions(t)
		ts := pipeTest(t, o)
		accounts := &issuers{dir: o.Dir, accounts: map[string]*rsa.PrivateKey{}}
		accounts.account(t, "backend")
		accounts.account(t, "other")
		n := &network{ts.Server, t, func(context.Context, string, string) (net.Conn, error) { return ts.dial() }}
		access := func(name string) string {
			return "access_token=" + url.QueryEscape(exchange(t, n, accounts.assertion(t, name)))
		}
		put := "event: put\ndata: {\"path\":\"/\",\"data\":null}\n\n"
		user := ts.follow("/users/ana.json?auth=" + url.QueryEscape(signed(t, time.Hour)))
		account := ts.follow("/users/ana.json?" + access("backend"))
		profile := ts.follow("/.settings/profile.json?ns=test&" + access("backend"))
		other := ts.follow("/users/ana.json?" + access("other"))
		for _, s := range []*stream{user, account, other} {
			s.want(put)
		}
		time.Sleep(5 * time.Second)
		began := time.Now()
		if err := auth.RevocationsOf(o.Dir).Revoke("ana", time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		user.want(eventRevoked)
		if err := auth.AccountsOf(o.Dir).Revoke("backend"); err != nil {
			t.Fatal(err)
		}
		account.want(eventRevoked)
		if text, err := io.ReadAll(profile.events); err != nil || !strings.HasSuffix(string(text), eventRevoked) {
			t.Errorf("profile: %q, %v", text, err)
		}
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("both ended after %s, want within a second each", d)
		}
		other.want(eventKeepAlive)
		for _, s := range []*stream{user, account, profile, other} {
			s.Close()
		}
		if err := ts.shutdown(); err != nil {
			t.Error(err)
		}
	})
}

// read returns the value at a path of the database test.
func read(t *testing.T, s *Server, path string) string {
	t.Helper()
	db, err := s.spaces.database("test")
	if err != nil {
		t.Fatal(err)
	}
	value, err := db.Get(t.Context(), dsync.Read{Caller: dsync.Admin, Path: tree.MustParsePath(path), Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	return value.JSON()
}

// exchange returns an access token.
func exchange(t *testing.T, n *network, assertion string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DialContext: n.dial, DisableKeepAlives: true}}
	resp, err := client.PostForm("http://db.localhost/token", url.Values{"grant_type": {jwtBearer}, "assertion": {assertion}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return body.Token
}

// TestTokenDoor: requests for access tokens that are none.
func TestTokenDoor(t *testing.T) {
	ts := serveTest(t, Options{Namespaces: []string{"test"}})
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	for _, c := range []struct {
		method, body string
		status       int
		text         string
	}{
		{"GET", "", 405, "Method Not Allowed"},
		{"POST", "", 400, "unsupported_grant_type"},
		{"POST", "grant_type=password&assertion=x", 400, "unsupported_grant_type"},
		{"POST", "grant_type=" + url.QueryEscape(jwtBearer), 400, "invalid_grant"},
		{"POST", "%zz", 400, "invalid_request"},
		{"POST", "a=" + strings.Repeat("x", maxExchange), 413, textPayloadTooBig},
	} {
		r := ts.do(call{c.method, "/token", form, c.body})
		if r.StatusCode != c.status || !strings.Contains(r.body, fmt.Sprintf("%q", c.text)) {
			t.Errorf("%s %.60s: %d %s, want %d %s", c.method, c.body, r.StatusCode, r.body, c.status, c.text)
		}
	}
}
