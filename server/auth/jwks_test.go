package auth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
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

	"github.com/dogwooddb/dogwood/tree/store/durable"
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
		"large coordinate":  {with(ec, "x", strings.Repeat("_", 50)), 0},
		"no coordinate":     {with(ec, "x", ""), 0},
		"broken beside it":  {jwks(rs, map[string]any{"kty": "RSA", "kid": "x", "n": 5}), 1},
		"certificate":       {with(rs, "x5c", []string{"AAAA"}), 1},
		"private":           {with(rs, "d", "AAAA"), 1},
		"padded":            {with(rs, "e", "AQAB===="), 1},
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
		if err != nil {
			return
		}
		for _, key := range set {
			alg := key.Marshal().ALG.String()
			if alg != "RS256" && alg != "ES256" {
				t.Errorf("a key for %q", alg)
			}
			if (token{header: Claims{"alg": alg}, signature: make([]byte, 64)}).verify(key.Key()) {
				t.Errorf("the key %q verifies anything", key.Marshal().KID)
			}
		}
		again, err := parseKeySet(must(formatKeySet(set)))
		if err != nil || len(again) != len(set) {
			t.Errorf("%d keys are %d when they are read again, %v", len(set), len(again), err)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	file := writeKeys(t, jwk(&rsaKey().PublicKey, "rsa", nil))
	audiences := []Audience{{"a", ""}}
	for name, providers := range map[string][]Provider{
		"no audience":    {{Issuer: issuer, KeySet: file}},
		"no issuer":      {{KeySet: file, Audiences: audiences}},
		"no keys":        {{Issuer: issuer, Audiences: audiences}},
		"empty audience": {{issuer, file, []Audience{{"", "shop"}}}},
		"no such file":   {{issuer, file + "x", audiences}},
		"plain http":     {{issuer, "http://id.example.org/keys", audiences}},
		"second is bad":  {{issuer, "https://id.example.org", audiences}, {issuer, file + "x", audiences}},
	} {
		if a, err := New(Options{Providers: providers, Transport: &keyServer{}}); err == nil {
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
		Providers: []Provider{{issuer, file, []Audience{{"shop-project", ""}}}},
		Now:       func() time.Time { return now },
		Log:       slog.New(slog.NewTextHandler(&log, nil)),
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
	if err := writeFile(durable.Replace, file, jwks(jwk(&otherRSA().PublicKey, "two", nil))); err != nil {
		t.Fatal(err)
	}
	want("exchanged", "two", otherRSA(), nil)
	want("exchanged", "one", rsaKey(), ErrUnknownKid)
	if err := writeFile(durable.Replace, file, []byte("{")); err != nil {
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
		Providers: []Provider{{issuer, "https://user:password@id.example.org/keys", []Audience{{"shop-project", ""}}}},
		Now:       func() time.Time { return now },
		Transport: s,
		Log:       slog.New(slog.NewTextHandler(log, nil)),
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
		time.Sleep(keyRefresh - keyRetry - time.Second)
		want("withdrawn, not yet seen", good, nil, 2)
		time.Sleep(time.Second)
		synctest.Wait()
		want("withdrawn", good, ErrUnknownKid, 3)
	})
}

// Whoever comes while an address is asked for a new key shares the answer, which
// may have keys that cannot be read.
func TestKeyURLAsksOnce(t *testing.T) {
	one, two := jwk(&rsaKey().PublicKey, "one", nil), jwk(&otherRSA().PublicKey, "two", nil)
	broken := jwk(&rsaKey().PublicKey, "three", map[string]any{"n": "!", "x5c": 5})
	next := sign("RS256", "two", idClaims(""), otherRSA())
	synctest.Test(t, func(t *testing.T) {
		s := &keyServer{status: 200, body: jwks(one)}
		a := newURLTest(t, s, io.Discard)
		defer a.Close()
		time.Sleep(keyRetry)
		s.answer(200, jwks(broken, two))
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := a.Token("shop", next); err != nil {
					t.Errorf("a new key: %v", err)
				}
			})
		}
		all.Wait()
		if s.count() != 2 {
			t.Errorf("asked %d times, want 2", s.count())
		}
	})
}

// Close does not wait for a server of keys that does not answer, and nobody else
// does any longer.
func TestKeyURLCloses(t *testing.T) {
	unknown := sign("RS256", "two", idClaims(""), otherRSA())
	for name, began := range map[string]bool{"before the first answer": false, "after it": true} {
		synctest.Test(t, func(t *testing.T) {
			s := &keyServer{status: 200, body: jwks(jwk(&rsaKey().PublicKey, "one", nil)), hang: !began}
			a := newURLTest(t, s, io.Discard)
			if began {
				time.Sleep(keyRetry)
			}
			s.silence()
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					if _, err := a.Token("shop", unknown); !errors.Is(err, ErrUnknownKid) {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			synctest.Wait()
			start := time.Now()
			a.Close()
			all.Wait()
			if d := time.Since(start); d != 0 {
				t.Errorf("%s: Close took %s", name, d)
			}
		})
	}
}

// A server of keys that fails does not affect clients that were known before.
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
				if _, err := a.Token("shop", good); !errors.Is(err, ErrUnknownKid) {
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
						if _, err := a.Token("shop", unknown); !errors.Is(err, ErrUnknownKid) {
							t.Errorf("an unknown key: %v", err)
						}
					})
				}
				all.Wait()
				if _, err := a.Token("shop", good); err != nil {
					t.Errorf("a known key while it fails: %v", err)
				}
				a.Close()
				if _, err := a.Token("shop", unknown); !errors.Is(err, ErrUnknownKid) {
					t.Errorf("after the end: %v", err)
				}
				if text := log.String(); !strings.Contains(text, "keys of tokens cannot be had") || strings.Contains(text, "password") {
					t.Errorf("log: %s", text)
				}
			})
		})
	}
}
