package auth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestParseKeySet(t *testing.T) {
	rs, ec := jwk(&rsaKey().PublicKey, "rsa", nil), jwk(&ecKey().PublicKey, "ec", nil)
	with := func(m map[string]any, name string, v any) []byte {
		changed := map[string]any{}
		for n, v := range m {
			changed[n] = v
		}
		changed[name] = v
		return jwks(changed)
	}
	small := must(rsa.GenerateKey(rand.Reader, 1024))
	p384 := must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	for name, c := range map[string]struct {
		src  []byte
		want int // keys, 0 for an error
	}{
		"both":              {jwks(rs, ec), 2},
		"others beside it":  {jwks(rs, map[string]any{"kty": "OKP", "kid": "x"}, map[string]any{"kty": "oct", "kid": "s", "k": "AAAA"}), 1},
		"without alg":       {with(rs, "alg", ""), 1},
		"without use":       {with(rs, "use", ""), 1},
		"for encryption":    {with(rs, "use", "enc"), 0},
		"RS512":             {with(rs, "alg", "RS512"), 0},
		"without kid":       {with(rs, "kid", ""), 0},
		"symmetric":         {jwks(map[string]any{"kty": "oct", "kid": "s", "k": "AAAA", "alg": "HS256"}), 0},
		"1024 bits":         {jwks(jwk(&small.PublicKey, "small", nil)), 0},
		"huge":              {with(rs, "n", strings.Repeat("A", 4)+strings.Repeat("_", 4000)), 0},
		"exponent 1":        {with(rs, "e", "AQ"), 0},
		"exponent too long": {with(rs, "e", "AQAAAAAAAAAA"), 0},
		"no exponent":       {with(rs, "e", ""), 0},
		"bad base64":        {with(rs, "n", "!"), 0},
		"P-384":             {jwks(jwk(&p384.PublicKey, "p384", nil)), 0},
		"off the curve":     {with(ec, "x", ec["y"]), 0},
		"long coordinate":   {with(ec, "x", strings.Repeat("A", 50)), 0},
		"nothing":           {[]byte(`{"keys":[]}`), 0},
		"no set":            {[]byte(`[]`), 0},
		"no JSON":           {[]byte(`<html>`), 0},
		"too many":          {must(json.Marshal(map[string]any{"keys": make([]map[string]any, maxKeys+1)})), 0},
	} {
		set, err := parseKeySet(c.src)
		if len(set) != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%s: %d keys, %v, want %d", name, len(set), err, c.want)
		}
	}
}

func FuzzKeySet(f *testing.F) {
	f.Add(jwks(jwk(&rsaKey().PublicKey, "rsa", nil)))
	f.Add(jwks(jwk(&ecKey().PublicKey, "ec", nil)))
	f.Add([]byte(`{"keys":[{"kty":"RSA","kid":"a","n":"AQAB","e":"AQAB"}]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		set, err := parseKeySet(src)
		if (err == nil) != (len(set) > 0) {
			t.Fatalf("%d keys and %v", len(set), err)
		}
		for kid := range set {
			for _, alg := range []string{"RS256", "ES256"} {
				if key, ok := set.find(kid, alg); ok && (token{header: Claims{"alg": alg}, signature: make([]byte, 64)}).verify(key) {
					t.Errorf("the key %q verifies anything", kid)
				}
			}
			if _, ok := set.find(kid, "HS256"); ok {
				t.Errorf("the key %q is a secret", kid)
			}
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	file := writeKeys(t, jwk(&rsaKey().PublicKey, "rsa", nil))
	audiences := []Audience{{"a", ""}}
	for name, o := range map[string]Options{
		"no audience":    {KeySets: []string{file}, Issuers: []string{issuer}},
		"no issuer":      {KeySets: []string{file}, Audiences: audiences},
		"no keys":        {Issuers: []string{issuer}, Audiences: audiences},
		"empty audience": {KeySets: []string{file}, Issuers: []string{issuer}, Audiences: []Audience{{"", "shop"}}},
		"empty issuer":   {KeySets: []string{file}, Issuers: []string{""}, Audiences: audiences},
		"no such file":   {KeySets: []string{file + "x"}, Issuers: []string{issuer}, Audiences: audiences},
		"plain http":     {KeySets: []string{"http://id.example.org/keys"}, Issuers: []string{issuer}, Audiences: audiences},
		"second is bad":  {KeySets: []string{"https://id.example.org", file + "x"}, Issuers: []string{issuer}, Audiences: audiences, Transport: &keyServer{}},
	} {
		if a, err := New(o); err == nil {
			a.Close()
			t.Errorf("%s: accepted", name)
		}
	}
}

// A file that is exchanged is read again; while it is not in order, the keys
// before it serve.
func TestKeyFileRotates(t *testing.T) {
	var log bytes.Buffer
	file := writeKeys(t, jwk(&rsaKey().PublicKey, "one", nil))
	a, err := New(Options{
		KeySets: []string{file}, Issuers: []string{issuer}, Audiences: []Audience{{"shop-project", ""}},
		Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := func(when, kid string, key *rsa.PrivateKey, want error) {
		t.Helper()
		if _, err := a.Token("shop", sign("RS256", kid, idClaims(""), key)); err != want {
			t.Errorf("%s, key %s: %v, want %v", when, kid, err, want)
		}
	}
	want("first", "one", rsaKey(), nil)
	want("first", "two", otherRSA(), ErrUnknownKid)
	if err := replaceFile(file, jwks(jwk(&otherRSA().PublicKey, "two", nil))); err != nil {
		t.Fatal(err)
	}
	want("exchanged", "two", otherRSA(), nil)
	want("exchanged", "one", rsaKey(), ErrUnknownKid)
	if err := replaceFile(file, []byte("{")); err != nil {
		t.Fatal(err)
	}
	want("damaged", "two", otherRSA(), nil)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	want("gone", "two", otherRSA(), nil)
	if text := log.String(); strings.Count(text, "unexpected end of JSON input") != 1 || !strings.Contains(text, "no such file") {
		t.Errorf("log: %s", text)
	}
}

// A keyServer answers requests for a key set without a network.
type keyServer struct {
	mu     sync.Mutex
	status int
	body   []byte
	asked  int
	hang   bool
}

func (s *keyServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.hang {
		s.mu.Unlock()
		<-r.Context().Done()
		s.mu.Lock()
		return nil, r.Context().Err()
	}
	return &http.Response{
		Status: fmt.Sprint(s.status), StatusCode: s.status, Request: r,
		Header: http.Header{"Location": {"http://elsewhere.example/"}},
		Body:   io.NopCloser(bytes.NewReader(s.body)),
	}, nil
}

func (s *keyServer) answer(status int, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.body, s.hang = status, body, false
}

func (s *keyServer) silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hang = true
}

func (s *keyServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// newURLTest returns an authority that asks s for keys.
func newURLTest(t *testing.T, s *keyServer, log io.Writer) *Authority {
	t.Helper()
	a, err := New(Options{
		KeySets: []string{"https://user:password@id.example.org/keys"}, Issuers: []string{issuer}, Audiences: []Audience{{"shop-project", ""}},
		Now: func() time.Time { return now }, Transport: s, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestKeyURLRotates(t *testing.T) {
	one, two := jwk(&rsaKey().PublicKey, "one", nil), jwk(&otherRSA().PublicKey, "two", nil)
	good := sign("RS256", "one", idClaims(""), rsaKey())
	next := sign("RS256", "two", idClaims(""), otherRSA())
	synctest.Test(t, func(t *testing.T) {
		s := &keyServer{status: 200, body: jwks(one)}
		a := newURLTest(t, s, io.Discard)
		defer a.Close()
		want := func(when, token string, want error, asked int) {
			t.Helper()
			if _, err := a.Token("shop", token); err != want {
				t.Errorf("%s: %v, want %v", when, err, want)
			}
			synctest.Wait()
			if s.count() != asked {
				t.Errorf("%s: asked %d times, want %d", when, s.count(), asked)
			}
		}
		want("at once", good, nil, 1)
		s.answer(200, jwks(one, two))
		for range 10 {
			want("a new key, too soon to ask again", next, ErrUnknownKid, 1)
		}
		time.Sleep(keyRetry)
		want("a new key", next, nil, 2)
		want("both", good, nil, 2)
		want("the key of another algorithm", sign("ES256", "one", idClaims(""), ecKey()), ErrUnknownKid, 2)

		s.answer(200, jwks(two))
		time.Sleep(keyRefresh - time.Second)
		want("withdrawn, not yet seen", good, nil, 2)
		time.Sleep(time.Second)
		synctest.Wait()
		want("withdrawn", good, ErrUnknownKid, 3)
	})
}

// A server of keys that fails costs nobody who was known before.
func TestKeyURLFails(t *testing.T) {
	one := jwk(&rsaKey().PublicKey, "one", nil)
	good := sign("RS256", "one", idClaims(""), rsaKey())
	unknown := sign("RS256", "two", idClaims(""), otherRSA())
	for name, fail := range map[string]func(*keyServer){
		"status":   func(s *keyServer) { s.answer(500, jwks(one)) },
		"redirect": func(s *keyServer) { s.answer(302, nil) },
		"text":     func(s *keyServer) { s.answer(200, []byte("<html>")) },
		"size":     func(s *keyServer) { s.answer(200, bytes.Repeat([]byte(" "), maxKeySetBytes+1)) },
		"hangs":    (*keyServer).silence,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				s := new(keyServer)
				fail(s)
				a := newURLTest(t, s, &log)
				if _, err := a.Token("shop", good); err != ErrUnknownKid {
					t.Errorf("before the first answer: %v", err)
				}
				s.answer(200, jwks(one))
				time.Sleep(keyRetry + keyTimeout)
				synctest.Wait()
				if _, err := a.Token("shop", good); err != nil {
					t.Errorf("after it recovered: %v", err)
				}
				fail(s)
				time.Sleep(2 * keyRefresh)
				var all sync.WaitGroup
				for range 20 { // whatever waits, waits for one answer
					all.Go(func() {
						if _, err := a.Token("shop", unknown); err != ErrUnknownKid {
							t.Errorf("an unknown key: %v", err)
						}
					})
				}
				all.Wait()
				if _, err := a.Token("shop", good); err != nil {
					t.Errorf("a known key while it fails: %v", err)
				}
				a.Close()
				if _, err := a.Token("shop", unknown); err != ErrUnknownKid {
					t.Errorf("after the end: %v", err)
				}
				if text := log.String(); !strings.Contains(text, "keys of tokens cannot be had") || strings.Contains(text, "password") {
					t.Errorf("log: %s", text)
				}
			})
		})
	}
}
