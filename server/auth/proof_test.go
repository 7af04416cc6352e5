package auth

import (
	"strings"
	"testing"
	"time"
)

// By its proof, a credential is known as revoked when it is, however long it has expired, and
// neither before nor because of another one.
func TestProof(t *testing.T) {
	a := newTest(t)
	by, key := newAccount(t, a, "backend")
	access := must(a.Exchange(assertion(by, key, nil)))
	custom := sign("RS256", "", withTimes(`"iss":"`+by.Email()+`","uid":"ana","aud":"shop"`, -60, 3600), key)
	user := sign("HS256", "", withTimes(`"uid":"ana"`, -60, 3600), []byte(secret))
	later := sign("HS256", "", withTimes(`"uid":"ana"`, 0, 3600), []byte(secret))
	bo := sign("HS256", "", withTimes(`"uid":"bo"`, -60, 3600), []byte(secret))
	proofs := map[string]string{
		"access": must(a.Bearer("shop", access)).Proof(), "custom": must(a.Token("shop", custom)).Proof(),
		"user": must(a.Token("shop", user)).Proof(), "later": must(a.Token("shop", later)).Proof(), "bo": must(a.Token("shop", bo)).Proof(),
	}
	a.opts.Now = func() time.Time { return now.Add(1000 * time.Hour) }
	want := func(when string, revoked ...string) {
		t.Helper()
		for name, text := range proofs {
			want := false
			for _, r := range revoked {
				want = want || r == name
			}
			if got, err := a.Revoked("shop", text); got != want || err != nil {
				t.Errorf("%s, %s %s: %t, %v, want %t", when, name, text, got, err, want)
			}
		}
	}
	want("at first")
	if err := a.revoked.Revoke("ana", now); err != nil {
		t.Fatal(err)
	}
	want("ana is revoked", "user", "custom")
	if err := a.accounts.Revoke("backend"); err != nil {
		t.Fatal(err)
	}
	want("so is the account", "user", "custom", "access")
	newAccount(t, a, "backend")
	want("it was made anew", "user", "custom", "access")
	if _, err := a.Revoked("shop", "{"); err == nil {
		t.Error("a proof that is none is taken")
	}
}

// A credential that cannot be revoked has no proof, and no proof is long.
func TestNoProof(t *testing.T) {
	early := time.Unix(-1<<40, 0) // in front of the year 0
	for name, c := range map[string]struct {
		id   Identity
		want string
	}{
		"nobody":        {Identity{}, ""},
		"a secret":      {admin, ""},
		"a token of it": {Identity{Admin: true, Expires: now, since: now}, ""},
		"a long uid":    {Identity{Auth: Claims{"uid": strings.Repeat("x", maxUID+1)}, since: now}, ""},
		"an old one":    {Identity{Auth: Claims{"uid": "ana"}, since: early}, `{"uid":"ana"}`},
	} {
		if got := c.id.Proof(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
