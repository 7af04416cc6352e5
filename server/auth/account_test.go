package auth

import (
	"crypto/rsa"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// assertion returns what a service account exchanges for an access token, with
// other members than the usual ones.
func assertion(by *Account, key *rsa.PrivateKey, change func(Claims)) string {
	c := Claims{"iss": by.Email(), "aud": by.TokenURI, "scope": "x", "iat": json.Number("1790000000"), "exp": json.Number("1790003600")}
	if change != nil {
		change(c)
	}
	return sign("RS256", "", c.JSON(), key)
}

func TestExchange(t *testing.T) {
	a := newTest(t)
	by, key := newAccount(t, a, "backend")
	limited, limitedKey := newAccount(t, a, "shop-only", "shop")

	access := func(assertion string) string {
		t.Helper()
		token, err := a.Exchange(assertion)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	everywhere, inShop := access(assertion(by, key, nil)), access(assertion(limited, limitedKey, nil))
	for _, c := range []struct {
		ns, token string
		want      any
	}{
		{"shop", everywhere, "admin"}, {"test", everywhere, "admin"}, {"", everywhere, "admin"},
		{"shop", inShop, "admin"}, {"test", inShop, ErrInvalid}, {"", inShop, ErrInvalid},
		{"shop", everywhere[:len(everywhere)-1], ErrInvalid}, {"shop", everywhere + "A", ErrInvalid},
		{"shop", strings.TrimPrefix(everywhere, accessPrefix), ErrInvalid},
		{"shop", accessPrefix, ErrInvalid}, {"shop", accessPrefix + ".", ErrInvalid},
		{"shop", strings.Split(everywhere, ".")[0] + "." + strings.Split(inShop, ".")[1], ErrInvalid},
	} {
		if got := outcome(a.Bearer(c.ns, c.token)); got != c.want {
			t.Errorf("%.20s… in %q: %v, want %v", c.token, c.ns, got, c.want)
		}
		if got := outcome(a.Token(c.ns, c.token)); got != ErrInvalid {
			t.Errorf("%.20s… as a user's token in %q: %v", c.token, c.ns, got)
		}
	}

	for name, text := range map[string]string{
		"another's name":        assertion(limited, key, nil),
		"another's audience":    assertion(by, key, func(c Claims) { c["aud"] = "https://elsewhere.example/token" }),
		"no audience":           assertion(by, key, func(c Claims) { delete(c, "aud") }),
		"nobody":                assertion(by, key, func(c Claims) { c["iss"] = "nobody" + accountDomain }),
		"no issuer":             assertion(by, key, func(c Claims) { delete(c, "iss") }),
		"a path":                assertion(by, key, func(c Claims) { c["iss"] = "../service-accounts/backend" + accountDomain }),
		"two hours":             assertion(by, key, func(c Claims) { c["exp"] = json.Number("1790007200") }),
		"no end":                assertion(by, key, func(c Claims) { delete(c, "exp") }),
		"no begin":              assertion(by, key, func(c Claims) { delete(c, "iat") }),
		"in the future":         assertion(by, key, func(c Claims) { c["iat"] = json.Number("1790000061") }),
		"other key":             assertion(by, otherRSA(), nil),
		"HS256":                 sign("HS256", "", `{"iss":"`+by.Email()+`","aud":"`+by.TokenURI+`","iat":1790000000,"exp":1790003600}`, []byte(by.PublicKey)),
		"key id of another one": sign("RS256", limited.Key, `{"iss":"`+by.Email()+`","aud":"`+by.TokenURI+`","iat":1790000000,"exp":1790003600}`, key),
		"garbage":               "garbage", "nothing": "", "access token": everywhere,
	} {
		if token, err := a.Exchange(text); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %s, %v", name, token, err)
		}
	}
	if _, err := a.Exchange(assertion(by, key, func(c Claims) { c["iat"], c["exp"] = json.Number("1789990000"), json.Number("1789993600") })); !errors.Is(err, ErrExpired) {
		t.Errorf("an old assertion: %v", err)
	}
	if _, err := a.Exchange(assertion(by, key, func(c Claims) { c["aud"] = []any{googleTokenURI} })); err != nil {
		t.Errorf("the audience of libraries that know only one: %v", err)
	}
}

// An access token is good for an hour, over a restart, and until its account is
// revoked, even if another one gets the name.
func TestAccessTokensEnd(t *testing.T) {
	a := newTest(t)
	by, key := newAccount(t, a, "backend")
	token, err := a.Exchange(assertion(by, key, nil))
	if err != nil {
		t.Fatal(err)
	}
	id, err := a.Bearer("shop", token)
	if err != nil || id.Expires.Sub(now) != AccessLife || !id.CanEnd() {
		t.Fatalf("%+v, %v, want an end in an hour", id, err)
	}

	later := now
	restarted, err := New(Options{DataDir: filepath.Dir(a.accounts.dir), Now: func() time.Time { return later }})
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string, want error) {
		t.Helper()
		if _, err := restarted.Bearer("shop", token); err != want {
			t.Errorf("%s: %v, want %v", when, err, want)
		}
		if err := restarted.Check("shop", id); err != want {
			t.Errorf("checked again, %s: %v, want %v", when, err, want)
		}
	}
	check("after a restart", nil)
	later = now.Add(AccessLife - 1)
	check("just before its end", nil)
	later = now.Add(AccessLife)
	check("at its end", ErrExpired)
	later = now
	if err := a.accounts.Revoke("backend"); err != nil {
		t.Fatal(err)
	}
	check("revoked", ErrRevoked)
	newAccount(t, a, "backend")
	check("made anew", ErrRevoked)

	elsewhere := newTest(t)
	newAccount(t, elsewhere, "backend")
	if _, err := elsewhere.Bearer("shop", token); !errors.Is(err, ErrInvalid) {
		t.Errorf("in another data directory: %v", err)
	}
}

// Custom tokens of service accounts, as Admin SDKs make them.
func TestAccountTokens(t *testing.T) {
	a := newTest(t)
	by, key := newAccount(t, a, "backend")
	limited, limitedKey := newAccount(t, a, "shop-only", "shop")
	claims := func(by *Account, more string) string {
		return withTimes(`"iss":"`+by.Email()+`","sub":"`+by.Email()+`","uid":"ana",`+more, -60, 3600)
	}
	aud := `"aud":"` + customAudience + `"`
	ana := `{"provider":"custom","token":{"exp":1790003600,"firebase":{"identities":{},"sign_in_provider":"custom"},"iat":1789999940,"sub":"ana","user_id":"ana"},"uid":"ana"}`
	for _, d := range []decision{
		{"SDK", sign("RS256", "", claims(by, aud), key), ana, ana},
		{"with key id", sign("RS256", by.Key, claims(by, aud), key), ana, ana},
		{"with another key id", sign("RS256", "other", claims(by, aud), key), ErrInvalid, ErrInvalid},
		{"limited", sign("RS256", "", claims(limited, aud), limitedKey), ana, ErrInvalid},
		{"for the shop", sign("RS256", "", claims(by, `"aud":"shop"`), key), ana, ErrInvalid},
		{"for nobody", sign("RS256", "", claims(by, `"x":1`), key), ErrInvalid, ErrInvalid},
		{"another's key", sign("RS256", "", claims(by, aud), limitedKey), ErrInvalid, ErrInvalid},
		{"administrator", sign("RS256", "", claims(by, aud+`,"v":0,"admin":true`), key), ana, ana},
		{"assertion", assertion(by, key, nil), ErrInvalid, ErrInvalid},
		{"unknown account", sign("RS256", "", strings.Replace(claims(by, aud), "backend@", "nobody@", 1), key), ErrInvalid, ErrInvalid},
	} {
		d.check(t, a)
	}
	id, err := a.Token("shop", sign("RS256", "", claims(by, aud), key))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.accounts.Revoke("backend"); err != nil {
		t.Fatal(err)
	}
	if err := a.Check("shop", id); !errors.Is(err, ErrRevoked) {
		t.Errorf("whoever it vouched for, after the account was revoked: %v", err)
	}
}

func TestAccounts(t *testing.T) {
	dir := t.TempDir()
	accounts := AccountsOf(dir)
	if list, err := accounts.List(); len(list) != 0 || err != nil {
		t.Errorf("at first: %v, %v", list, err)
	}
	made, file, err := NewAccount("backend", "my-project", "https://db.example.org/token", []string{"shop"}, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(accounts.Add(made)); err != nil {
		t.Fatal(err)
	}
	if err := accounts.Add(made); !errors.Is(err, ErrExists) {
		t.Errorf("added twice: %v", err)
	}
	if list, err := accounts.List(); len(list) != 1 || err != nil || list[0].Name != "backend" || list[0].Namespaces[0] != "shop" || !list[0].Created.Equal(now) {
		t.Errorf("list: %+v, %v", list, err)
	}
	var key map[string]string
	if err := json.Unmarshal(file, &key); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"type": "service_account", "project_id": "my-project", "client_email": "backend@dogwood.invalid",
		"token_uri": "https://db.example.org/token", "private_key_id": made.Key,
	} {
		if key[name] != want {
			t.Errorf("%s is %q, want %q", name, key[name], want)
		}
	}
	kept, err := os.ReadFile(accounts.file("backend"))
	if err != nil || strings.Contains(string(kept), "PRIVATE") {
		t.Errorf("the server keeps %s, %v", kept, err)
	}
	wantMode(t, accounts.file("backend"), 0o600)
	wantMode(t, accounts.dir, 0o700)

	for _, name := range []string{"", "-a", "A", "../a", "a/b", "a.b", "a\x00", strings.Repeat("a", 31)} {
		if _, _, err := NewAccount(name, "p", "u", nil, now); !errors.Is(err, ErrName) {
			t.Errorf("create %q: %v", name, err)
		}
		if err := accounts.Revoke(name); !errors.Is(err, ErrName) {
			t.Errorf("revoke %q: %v", name, err)
		}
		if _, err := accounts.Find(name); !errors.Is(err, ErrNoSuch) {
			t.Errorf("find %q: %v", name, err)
		}
	}
	if err := accounts.Revoke("backend"); err != nil {
		t.Error(err)
	}
	if err := accounts.Revoke("backend"); !errors.Is(err, ErrNoSuch) {
		t.Errorf("revoked twice: %v", err)
	}
	if left, _ := os.ReadDir(accounts.dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func wantMode(t *testing.T, file string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != want {
		t.Errorf("%s: %v, %v, want mode %o", file, info.Mode(), err, want)
	}
}

// Of many callers that make an account of one name at once, one succeeds.
func TestAccountsAtATime(t *testing.T) {
	accounts := AccountsOf(t.TempDir())
	made, _, err := NewAccount("backend", "p", "u", nil, now)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	errs := make(chan error, 8)
	for range cap(errs) {
		all.Go(func() { errs <- accounts.Add(made) })
	}
	all.Wait()
	close(errs)
	made1 := 0
	for err := range errs {
		if err == nil {
			made1++
		} else if !errors.Is(err, ErrExists) {
			t.Error(err)
		}
	}
	if made1 != 1 {
		t.Errorf("%d were made, want 1", made1)
	}
}

// What cannot be read is refused, and said in the log only.
func TestDamagedFiles(t *testing.T) {
	a := newTest(t)
	by, key := newAccount(t, a, "backend")
	token, err := a.Exchange(assertion(by, key, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", "{}", `{"name":"other","key_id":"x"}`, `{"name":"backend","key_id":"` + by.Key + `","public_key":"none"}`} {
		if err := os.WriteFile(a.accounts.file("backend"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Exchange(assertion(by, key, nil)); !errors.Is(err, ErrInvalid) {
			t.Errorf("exchange with %q: %v", text, err)
		}
		if _, err := a.Bearer("shop", token); !errors.Is(err, ErrInvalid) && !strings.Contains(text, "public_key") {
			t.Errorf("access token with %q: %v", text, err)
		}
	}
	for _, text := range []string{"", "x", "00"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "access-token-key"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := New(Options{DataDir: dir}); err == nil {
			t.Errorf("the key %q is taken", text)
		}
	}
}

func TestRevocations(t *testing.T) {
	a := newTest(t)
	token := func(claims string) string { return sign("RS256", "rsa", idClaims(claims), rsaKey()) }
	old := sign("HS256", "", withTimes(`"v":0,"d":{"uid":"ana"}`, -60, 3600), []byte(secret))
	live, err := a.Token("shop", token(""))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.revoked.Revoke("ana", now); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, token string
		want        error
	}{
		{"issued before", token(""), ErrRevoked},
		{"old token, issued before", old, ErrRevoked},
		{"signed in before, refreshed after", token(`"auth_time":1789999999`), ErrRevoked},
		{"signed in after", token(`"auth_time":1790000000`), nil},
		{"somebody else", strings.TrimSpace(sign("RS256", "rsa", strings.Replace(idClaims(""), `"ana"`, `"bo"`, 1), rsaKey())), nil},
	} {
		if _, err := a.Token("shop", c.token); err != c.want {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if err := a.Check("shop", live); !errors.Is(err, ErrRevoked) {
		t.Errorf("who was signed in: %v", err)
	}
	// An earlier time takes nothing back, a later one reaches further.
	if err := a.revoked.Revoke("ana", now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Token("shop", token("")); !errors.Is(err, ErrRevoked) {
		t.Errorf("after a weaker revocation: %v", err)
	}
	if err := a.revoked.Revoke("ana", now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Token("shop", token(`"auth_time":1790000000`)); !errors.Is(err, ErrRevoked) {
		t.Errorf("after a stronger revocation: %v", err)
	}
	wantMode(t, a.revoked.file("ana"), 0o600)

	for _, uid := range []string{"../../etc/passwd", "a/b", "ü\x00", "."} {
		if err := a.revoked.Revoke(uid, now); err != nil {
			t.Errorf("%q: %v", uid, err)
		}
	}
	for _, uid := range []string{"", strings.Repeat("a", 129)} {
		if err := a.revoked.Revoke(uid, now); err == nil {
			t.Errorf("%.10q was revoked", uid)
		}
	}
	if err := os.WriteFile(a.revoked.file("bo"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Token("shop", sign("RS256", "rsa", strings.Replace(idClaims(""), `"ana"`, `"bo"`, 1), rsaKey())); !errors.Is(err, ErrInvalid) {
		t.Errorf("with a damaged file: %v", err)
	}
}
