package auth

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/durable"
	"pgregory.net/rapid"
)

// A decision is a token and what it is in the namespaces shop and test: whom
// it stands for, or why it is refused.
type decision struct {
	name, token string
	shop, test  any // the auth variable as JSON, "admin", or an error
}

func (d decision) check(t *testing.T, a *Authority) {
	t.Helper()
	for ns, want := range map[string]any{"shop": d.shop, "test": d.test} {
		id, err := a.Token(ns, d.token)
		if got := outcome(id, err); got != want {
			t.Errorf("%s, in %s: %v, want %v", d.name, ns, got, want)
		}
	}
}

// outcome describes a decision.
func outcome(id Identity, err error) any {
	switch {
	case errors.Is(err, ErrInvalid):
		return ErrInvalid // whatever the reason
	case err != nil:
		return err
	case id.Admin:
		return "admin"
	}
	return id.Auth.JSON()
}

func TestSecrets(t *testing.T) {
	a := newTest(t)
	for _, d := range []decision{
		{"secret", secret, "admin", "admin"},
		{"secret of the shop", "a-secret-of-the-shop", "admin", ErrInvalid},
		{"longer", secret + "x", ErrInvalid, ErrInvalid},
		{"shorter", secret[1:], ErrInvalid, ErrInvalid},
		{"other case", strings.ToUpper(secret), ErrInvalid, ErrInvalid},
		{"nothing", "", ErrInvalid, ErrInvalid},
	} {
		d.check(t, a)
		for ns, want := range map[string]any{"shop": d.shop, "test": d.test} {
			if got := outcome(a.Bearer(ns, d.token)); got != want {
				t.Errorf("%s as bearer, in %s: %v, want %v", d.name, ns, got, want)
			}
		}
	}
	if _, err := a.Bearer("", "a-secret-of-the-shop"); !errors.Is(err, ErrInvalid) {
		t.Errorf("the secret of one database for the whole server: %v", err)
	}
	if id, err := a.Bearer("", secret); err != nil || !id.Admin {
		t.Errorf("the secret for the whole server: %+v, %v", id, err)
	}
	for _, s := range []string{fmt.Sprintf("%v %+v %#v", a.opts.Secrets, a.opts.Secrets, a.opts.Secrets), fmt.Sprintf("%v", a.opts)} {
		if strings.Contains(s, "-secret-") {
			t.Errorf("the secret is printed: %s", s)
		}
	}
}

func TestReadSecrets(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"0123456789abcdef\n", "[0123456789abcdef]"},
		{"# old\r\n  0123456789abcdef  \r\n\r\nfedcba9876543210", "[0123456789abcdef fedcba9876543210]"},
		{"", "the file has no secret"},
		{"# 0123456789abcdef", "the file has no secret"},
		{"0123456789abcdef\n\nshort\n", "line 3: a secret needs at least 16 characters"},
	} {
		list, err := ReadSecrets(c.text)
		var values []string
		for _, s := range list {
			values = append(values, s.Value)
		}
		got := fmt.Sprint(values)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("ReadSecrets(%q) = %s, want %s", c.text, got, c.want)
		}
	}
}

// Tokens that a secret signed: old ones, and custom ones.
func TestSecretTokens(t *testing.T) {
	a := newTest(t)
	hs := func(claims string) string { return sign("HS256", "", claims, []byte(secret)) }
	custom := `{"provider":"custom","token":{"exp":1790003600,"firebase":{"identities":{},"sign_in_provider":"custom"},"iat":1789999940,"sub":"ana","user_id":"ana"},"uid":"ana"}`
	for _, d := range []decision{
		{"old", hs(withTimes(`"v":0,"d":{"uid":"ana","x":[1.0,null]}`, -60, 3600)), `{"uid":"ana","x":[1.0,null]}`, `{"uid":"ana","x":[1.0,null]}`},
		{"old without exp", hs(`{"v":0,"d":{"uid":"ana"},"iat":1789999940}`), `{"uid":"ana"}`, `{"uid":"ana"}`},
		{"old of yesterday without exp", hs(`{"v":0,"d":{"uid":"ana"},"iat":1789900000}`), ErrExpired, ErrExpired},
		{"old without iat", hs(`{"v":0,"d":{"uid":"ana"},"exp":1790003600}`), `{"uid":"ana"}`, `{"uid":"ana"}`},
		{"old without times", hs(`{"v":0,"d":{"uid":"ana"}}`), ErrInvalid, ErrInvalid},
		{"old of an administrator", hs(withTimes(`"v":0,"d":{},"admin":true`, -60, 3600)), "admin", "admin"},
		{"admin: 1", hs(withTimes(`"v":0,"d":{"uid":"a"},"admin":1`, -60, 3600)), `{"uid":"a"}`, `{"uid":"a"}`},
		{"admin, not old", hs(withTimes(`"uid":"ana","admin":true`, -60, 3600)), custom, custom},
		{"custom", hs(withTimes(`"uid":"ana"`, -60, 3600)), custom, custom},
		{"custom for the shop", hs(withTimes(`"uid":"ana","aud":"shop"`, -60, 3600)), custom, ErrInvalid},
		{"custom for two", hs(withTimes(`"uid":"ana","aud":["shop","test"]`, -60, 3600)), custom, custom},
		{"custom for nobody", hs(withTimes(`"uid":"ana","aud":[]`, -60, 3600)), ErrInvalid, ErrInvalid},
		{"custom for a number", hs(withTimes(`"uid":"ana","aud":5`, -60, 3600)), ErrInvalid, ErrInvalid},
		{"custom for somebody else", hs(withTimes(`"uid":"ana","aud":"elsewhere"`, -60, 3600)), ErrInvalid, ErrInvalid},
		{"custom, claims are none", hs(withTimes(`"uid":"ana","claims":[]`, -60, 3600)), ErrInvalid, ErrInvalid},
		{"custom, long id", hs(withTimes(`"uid":"`+strings.Repeat("a", 129)+`"`, -60, 3600)), ErrInvalid, ErrInvalid},
		{"nobody", hs(withTimes(`"uid":""`, -60, 3600)), ErrInvalid, ErrInvalid},
		{"sub is not uid", hs(withTimes(`"sub":"ana"`, -60, 3600)), ErrInvalid, ErrInvalid},
		{"secret of the shop", sign("HS256", "", withTimes(`"uid":"ana"`, -60, 3600), []byte("a-secret-of-the-shop")), custom, ErrInvalid},
		{"secret of the shop for test", sign("HS256", "", withTimes(`"uid":"ana","aud":"test"`, -60, 3600), []byte("a-secret-of-the-shop")), ErrInvalid, ErrInvalid},
		{"other secret", sign("HS256", "", withTimes(`"uid":"ana"`, -60, 3600), []byte("a-secret-of-nobody")), ErrInvalid, ErrInvalid},
		{"empty secret", sign("HS256", "", withTimes(`"uid":"ana"`, -60, 3600), []byte{}), ErrInvalid, ErrInvalid},
		{"HS512", sign("HS512", "", withTimes(`"uid":"ana"`, -60, 3600), []byte(secret)), ErrInvalid, ErrInvalid},
	} {
		d.check(t, a)
	}

	// Claims that only an issuer sets stay as they are.
	id, err := a.Token("shop", hs(withTimes(`"uid":"ana","claims":{"role":"editor","sub":"bo","uid":"bo","firebase":{"tenant":"x"},"auth_time":1,"n":1.50}`, -60, 3600)))
	want := `{"exp":1790003600,"firebase":{"identities":{},"sign_in_provider":"custom"},"iat":1789999940,"n":1.50,"role":"editor","sub":"ana","user_id":"ana"}`
	if token, _ := id.Auth.Object("token"); err != nil || token.JSON() != want {
		t.Errorf("auth.token is %s, %v, want %s", token.JSON(), err, want)
	}
}

func TestIDTokens(t *testing.T) {
	a := newTest(t)
	rs := func(claims string) string { return sign("RS256", "rsa", claims, rsaKey()) }
	ana := func(claims string) string {
		c, _ := ParseClaims([]byte(claims))
		return Claims{"uid": "ana", "token": map[string]any(c)}.JSON()
	}
	good := idClaims("")
	bare := func(members string) string { return "{" + members + "}" }
	for _, d := range []decision{
		{"RS256", rs(good), ana(good), ErrInvalid},
		{"ES256", sign("ES256", "ec", good, ecKey()), ana(good), ErrInvalid},
		{"for all databases", rs(withTimes(`"iss":"`+issuer+`","aud":["x","any-project"],"sub":"ana"`, 0, 1)),
			ana(withTimes(`"iss":"`+issuer+`","aud":["x","any-project"],"sub":"ana"`, 0, 1)), ana(withTimes(`"iss":"`+issuer+`","aud":["x","any-project"],"sub":"ana"`, 0, 1))},

		{"no kid", sign("RS256", "", good, rsaKey()), ErrMissingKid, ErrMissingKid},
		{"unknown kid", sign("RS256", "old", good, rsaKey()), ErrUnknownKid, ErrUnknownKid},
		{"kid of another algorithm", sign("RS256", "ec", good, rsaKey()), ErrUnknownKid, ErrUnknownKid},
		{"empty kid", signed(map[string]any{"alg": "RS256", "kid": ""}, good, rsaKey()), ErrUnknownKid, ErrUnknownKid},
		{"kid is no text", signed(map[string]any{"alg": "RS256", "kid": 5}, good, rsaKey()), ErrUnknownKid, ErrUnknownKid},
		{"unknown crit", signed(map[string]any{"alg": "RS256", "kid": "rsa", "crit": []string{"exp"}}, good, rsaKey()), ErrInvalid, ErrInvalid},
		{"other key", sign("RS256", "rsa", good, otherRSA()), ErrInvalid, ErrInvalid},
		{"RS512", sign("RS512", "rsa", good, rsaKey()), ErrInvalid, ErrInvalid},
		{"PS256", sign("PS256", "rsa", good, rsaKey()), ErrInvalid, ErrInvalid},

		{"other issuer", rs(strings.Replace(good, issuer, "https://id.example.com", 1)), ErrInvalid, ErrInvalid},
		{"no issuer", rs(withTimes(`"aud":"shop-project","sub":"ana"`, -60, 3600)), ErrInvalid, ErrInvalid},
		{"other audience", rs(strings.Replace(good, "shop-project", "shop", 1)), ErrInvalid, ErrInvalid},
		{"no audience", rs(withTimes(`"iss":"`+issuer+`","sub":"ana"`, -60, 3600)), ErrInvalid, ErrInvalid},
		{"empty audience", rs(strings.Replace(good, "shop-project", "", 1)), ErrInvalid, ErrInvalid},
		{"empty sub", rs(strings.Replace(good, `"ana"`, `""`, 1)), ErrInvalid, ErrInvalid},
		{"sub is no text", rs(strings.Replace(good, `"ana"`, `5`, 1)), ErrInvalid, ErrInvalid},
		{"long sub", rs(strings.Replace(good, `"ana"`, `"`+strings.Repeat("a", 129)+`"`, 1)), ErrInvalid, ErrInvalid},
		{"no sub", rs(strings.Replace(good, `"sub"`, `"user_id"`, 1)), ErrInvalid, ErrInvalid},
		{"no exp", rs(bare(`"iss":"` + issuer + `","aud":"shop-project","sub":"ana","iat":1789999940`)), ErrInvalid, ErrInvalid},
		{"no iat", rs(bare(`"iss":"` + issuer + `","aud":"shop-project","sub":"ana","exp":1790003600`)), ErrInvalid, ErrInvalid},
		{"exp is text", rs(bare(`"iss":"` + issuer + `","aud":"shop-project","sub":"ana","iat":1789999940,"exp":"1790003600"`)), ErrInvalid, ErrInvalid},
		{"exp in milliseconds", rs(bare(`"iss":"` + issuer + `","aud":"shop-project","sub":"ana","iat":1789999940,"exp":1790003600000`)), ErrInvalid, ErrInvalid},
		{"old token's payload", rs(idClaims(`"v":0,"admin":true,"d":{"uid":"bo"}`)), ana(idClaims(`"v":0,"admin":true,"d":{"uid":"bo"}`)), ErrInvalid},
		{"custom token's payload", rs(withTimes(`"uid":"ana","claims":{}`, -60, 3600)), ErrInvalid, ErrInvalid},
	} {
		d.check(t, a)
	}

	provider := idClaims(`"firebase":{"sign_in_provider":"password"}`)
	if id, err := a.Token("shop", rs(provider)); err != nil || id.Auth.Text("provider") != "password" {
		t.Errorf("provider is %q, %v", id.Auth.Text("provider"), err)
	}
}

// A key is only ever used for the algorithm that it is for.
func TestConfusedAlgorithms(t *testing.T) {
	a := newTest(t)
	der := must(x509.MarshalPKIXPublicKey(&rsaKey().PublicKey))
	claims := withTimes(`"uid":"ana","sub":"ana","aud":"any-project","iss":"`+issuer+`"`, -60, 3600)
	keys := map[string][]byte{
		"DER":     der,
		"PEM":     pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
		"PKCS#1":  x509.MarshalPKCS1PublicKey(&rsaKey().PublicKey),
		"modulus": rsaKey().N.Bytes(),
		"JWK":     must(json.Marshal(jwk(&rsaKey().PublicKey, "rsa", nil))),
		"EC":      must(ecKey().PublicKey.Bytes()),
	}
	for name, key := range keys {
		for _, kid := range []string{"", "rsa", "ec"} {
			if id, err := a.Token("shop", sign("HS256", kid, claims, key)); !errors.Is(err, ErrInvalid) {
				t.Errorf("HS256 with the %s of a public key, kid %q: %+v, %v", name, kid, id, err)
			}
		}
	}
	b64 := base64.RawURLEncoding.EncodeToString
	for _, alg := range []string{"none", "None", "NONE", "", "hs256"} {
		for _, signature := range []string{"", b64([]byte("x"))} {
			token := b64([]byte(`{"alg":"`+alg+`","kid":"rsa"}`)) + "." + b64([]byte(claims)) + "." + signature
			if id, err := a.Token("shop", token); !errors.Is(err, ErrInvalid) {
				t.Errorf("alg %q: %+v, %v", alg, id, err)
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	a := newTest(t)
	b64 := base64.RawURLEncoding.EncodeToString
	header, claims := b64([]byte(`{"alg":"HS256"}`)), b64([]byte(withTimes(`"uid":"ana"`, -60, 3600)))
	good := sign("HS256", "", withTimes(`"uid":"ana"`, -60, 3600), []byte(secret))
	for _, token := range []string{
		"garbage", ".", "..", "...", "a.b.c", header + "." + claims, good + ".", "." + good, good + ".x", " " + good,
		header + "." + claims + ".!", header + "." + b64([]byte(`[]`)) + ".", header + "." + b64([]byte(`null`)) + ".",
		header + "." + b64([]byte(`{} {}`)) + ".", b64([]byte(`"HS256"`)) + "." + claims + ".", "%00", "\x00", "ü.ü.ü",
		b64([]byte(`{"alg":["HS256"]}`)) + "." + claims + ".", b64([]byte(`{}`)) + "." + claims + ".",
		strings.Repeat("a", MaxTokenBytes+1), strings.Repeat(".", MaxTokenBytes+1),
		sign("HS256", "", withTimes(`"uid":"ana","claims":{"x":"`+strings.Repeat("x", MaxTokenBytes)+`"}`, -60, 3600), []byte(secret)),
		sign("HS256", "", strings.Repeat(`{"uid":`, 20000), []byte(secret)),
	} {
		if id, err := a.Token("shop", token); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.60q: %+v, %v", token, id, err)
		}
	}
	if _, err := a.Token("shop", good); err != nil {
		t.Fatalf("the good token is refused: %v", err)
	}
}

// Times differ by up to the skew, and a session lasts as long as its token.
func TestTimes(t *testing.T) {
	a := newTest(t)
	for _, c := range []struct {
		name   string
		claims string
		err    error
		lasts  time.Duration
	}{
		{"an hour", `"iat":0,"exp":3600`, nil, time.Hour},
		{"fractions", `"iat":-0.5,"exp":1.5`, nil, 1500 * time.Millisecond},
		{"a second", `"iat":0,"exp":1`, nil, time.Second},
		{"expired now", `"iat":-10,"exp":0`, nil, time.Minute},
		{"expired within the skew", `"iat":-100,"exp":-59`, nil, time.Second},
		{"expired", `"iat":-100,"exp":-60`, ErrExpired, 0},
		{"expired long ago", `"iat":-90000,"exp":-86400`, ErrExpired, 0},
		{"issued within the skew", `"iat":60,"exp":3600`, nil, time.Hour},
		{"issued in the future", `"iat":61,"exp":3600`, ErrInvalid, 0},
		{"not yet within the skew", `"iat":0,"nbf":60,"exp":3600`, nil, time.Hour},
		{"not yet", `"iat":0,"nbf":61,"exp":3600`, ErrInvalid, 0},
		{"signed in within the skew", `"iat":0,"auth_time":60,"exp":3600`, nil, time.Hour},
		{"will sign in", `"iat":0,"auth_time":61,"exp":3600`, ErrInvalid, 0},
	} {
		claims := relative(`"iss":"` + issuer + `","aud":"any-project","sub":"ana","uid":"ana",` + c.claims)
		for name, token := range map[string]string{
			"ID token":     sign("RS256", "rsa", claims, rsaKey()),
			"secret token": sign("HS256", "", claims, []byte(secret)),
		} {
			id, err := a.Token("shop", token)
			if !errors.Is(err, c.err) || err == nil && id.Expires.Sub(now) != c.lasts {
				t.Errorf("%s, %s: %v, lasts %s, want %v, %s", name, c.name, err, id.Expires.Sub(now), c.err, c.lasts)
			}
		}
	}
}

// relative adds the time of the tests to the times in claims.
func relative(members string) string {
	c, _ := ParseClaims([]byte("{" + members + "}"))
	for _, name := range []string{"iat", "exp", "nbf", "auth_time"} {
		if n, ok := c[name].(json.Number); ok {
			seconds, _ := n.Float64()
			c[name] = json.Number(fmt.Sprintf("%.1f", float64(now.Unix())+seconds))
		}
	}
	return c.JSON()
}

func TestDevBelieves(t *testing.T) {
	a, err := New(Options{Dev: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b64 := base64.RawURLEncoding.EncodeToString
	for _, c := range []struct{ claims, want string }{
		{`{"sub":"ana","iat":0,"exp":3600}`, `{"token":{"exp":3600,"iat":0,"sub":"ana"},"uid":"ana"}`},
		{`{"user_id":"ana"}`, `{"token":{"user_id":"ana"},"uid":"ana"}`},
		{`{"uid":"ana"}`, `{"token":{"uid":"ana"},"uid":"ana"}`},
		{`{"uid":"ana","claims":{"a":1}}`, `{"provider":"custom","token":{"a":1,"firebase":{"identities":{},"sign_in_provider":"custom"},"sub":"ana","user_id":"ana"},"uid":"ana"}`},
		{`{"sub":"x@dogwood.invalid","uid":"ana","aud":"` + customAudience + `"}`, `{"provider":"custom","token":{"firebase":{"identities":{},"sign_in_provider":"custom"},"sub":"ana","user_id":"ana"},"uid":"ana"}`},
		{`{"v":0,"d":{"uid":"ana"}}`, `{"uid":"ana"}`},
		{`{"v":0,"admin":true}`, "admin"},
		{`{"sub":"a","provider_id":"anonymous"}`, `{"provider":"anonymous","token":{"provider_id":"anonymous","sub":"a"},"uid":"a"}`},
	} {
		id, err := a.Token("shop", b64([]byte(`{"alg":"none"}`))+"."+b64([]byte(c.claims))+".")
		if got := outcome(id, err); got != c.want || id.CanEnd() {
			t.Errorf("%s: %v, can end: %v, want %s for good", c.claims, got, id.CanEnd(), c.want)
		}
	}
	if id, err := a.Bearer("shop", "anything"); err != nil || !id.Admin {
		t.Errorf("any bearer token: %+v, %v", id, err)
	}
}

func TestCustomTokens(t *testing.T) {
	a := newTest(t)
	token, err := CustomToken{UID: "ana", Claims: Claims{"role": "editor"}, Namespace: "shop", Life: time.Minute}.Sign(secret, now)
	if err != nil {
		t.Fatal(err)
	}
	decision{"signed", token, `{"provider":"custom","token":{"exp":1790000060,"firebase":{"identities":{},"sign_in_provider":"custom"},"iat":1790000000,"role":"editor","sub":"ana","user_id":"ana"},"uid":"ana"}`, ErrInvalid}.check(t, a)
	for _, c := range []CustomToken{
		{Life: time.Minute},
		{UID: strings.Repeat("a", 129), Life: time.Minute},
		{UID: "ana"},
		{UID: "ana", Life: -time.Second},
		{UID: "ana", Life: time.Minute, Claims: Claims{"sub": "bo"}},
		{UID: "ana", Life: time.Minute, Claims: Claims{"x": strings.Repeat("x", MaxTokenBytes)}},
	} {
		if token, err := c.Sign(secret, now); err == nil {
			t.Errorf("%.80v was signed: %.80s", c, token)
		}
	}
}

// What is signed is read back, and no other secret reads it.
func TestCustomTokensRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfNDistinct(rapid.StringN(MinSecret, 40, -1), 2, 2, rapid.ID).Draw(t, "secrets")
		uid := rapid.StringN(1, 20, maxUID).Draw(t, "uid")
		text := rapid.StringN(0, 20, -1).Draw(t, "claim")
		token, err := CustomToken{UID: uid, Claims: Claims{"x": text}, Life: time.Minute}.Sign(secrets[0], now)
		if err != nil {
			t.Fatal(err)
		}
		believes := func(secret string) (Identity, error) {
			a := must(New(Options{Secrets: []Secret{{Value: secret}}, Now: func() time.Time { return now }}))
			return a.Token("shop", token)
		}
		id, err := believes(secrets[0])
		vars, _ := id.Auth.Object("token")
		if err != nil || id.Auth.Text("uid") != uid || vars.Text("x") != text {
			t.Fatalf("%+v, %v, want %q with %q", id, err, uid, text)
		}
		if id, err := believes(secrets[1]); !errors.Is(err, ErrInvalid) {
			t.Fatalf("with another secret: %+v, %v", id, err)
		}
	})
}

// FuzzToken: nothing panics, nothing is believed without a signature, and what
// dev mode believes is an object with an id.
func FuzzToken(f *testing.F) {
	b64 := base64.RawURLEncoding.EncodeToString
	for _, header := range []string{`{"alg":"none"}`, `{"alg":"HS256"}`, `{"alg":"RS256","kid":"rsa"}`, `{"alg":"ES256","kid":"ec"}`} {
		for _, claims := range []string{`{"sub":"ana","iat":1790000000,"exp":1790003600,"iss":"i","aud":"a"}`, `{"v":0,"d":{"uid":"ana"},"iat":1}`, `{"uid":"ana","claims":{"a":[1e400]}}`} {
			f.Add(b64([]byte(header)) + "." + b64([]byte(claims)) + ".c2ln")
		}
	}
	f.Add("dogwood_e30.AA")
	file := f.TempDir() + "/jwks.json"
	if err := writeFile(durable.Replace, file, jwks(jwk(&rsaKey().PublicKey, "rsa", nil), jwk(&ecKey().PublicKey, "ec", nil))); err != nil {
		f.Fatal(err)
	}
	serve := must(New(Options{
		Secrets:   []Secret{{Value: string(must(x509.MarshalPKCS8PrivateKey(ecKey())))}},
		Providers: []Provider{{"i", file, []Audience{{"a", ""}}}},
		Now:       func() time.Time { return now },
	}))
	dev := must(New(Options{Dev: true}))
	f.Fuzz(func(t *testing.T, token string) {
		for _, id := range [](func() (Identity, error)){
			func() (Identity, error) { return serve.Token("shop", token) },
			func() (Identity, error) { return serve.Bearer("shop", token) },
		} {
			if id, err := id(); err == nil {
				t.Errorf("%q is believed: %+v", token, id)
			}
		}
		if _, err := serve.Exchange(token); err == nil {
			t.Errorf("%q is exchanged", token)
		}
		id, err := dev.Token("shop", token)
		if err != nil {
			return
		}
		if again, ok := ParseClaims([]byte(id.Auth.JSON())); !id.Admin && (!ok || !reflect.DeepEqual(again.JSON(), id.Auth.JSON())) {
			t.Errorf("%q: auth is %s", token, id.Auth.JSON())
		}
	})
}

// A development server takes any Bearer token, and warns once of those that another server
// would refuse.
func TestDevWarnsOfUnknownBearer(t *testing.T) {
	var log strings.Builder
	a := must(New(Options{Dev: true, Secrets: []Secret{{Value: secret}}, Log: slog.New(slog.NewTextHandler(&log, nil))}))
	defer a.Close()
	bearer := func(text string) {
		t.Helper()
		if id, err := a.Bearer("demo", text); err != nil || !id.Admin {
			t.Errorf("%s: %+v, %v, want an administrator", text, id, err)
		}
	}
	bearer("owner")
	bearer(secret)
	if log.Len() > 0 {
		t.Errorf("a warning of tokens that are right: %s", &log)
	}
	bearer("wrong")
	bearer("wrong again")
	if n := strings.Count(log.String(), "level=WARN"); n != 1 || strings.Contains(log.String(), "wrong") {
		t.Errorf("%d warnings, want one without the token: %s", n, &log)
	}
}
