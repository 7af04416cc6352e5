package auth

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// What the lists of issuers, key sets and audiences mean together.
func TestProviders(t *testing.T) {
	for _, c := range []struct{ issuers, keySets, audiences, want string }{
		{"", "", "", "[]"},
		{"i", "k", "a", "[{i k [{a }]}]"},
		{"i", "k", "a b", "[{i k [{a } {b }]}]"},
		{"i", "k l", "a", "[{i k [{a }]} {i l [{a }]}]"},
		{"i", "k l", "a b", "[{i k [{a } {b }]} {i l [{a } {b }]}]"},
		{"i j", "k l", "a b", "[{i k [{a }]} {j l [{b }]}]"},
		{"i j", "k", "a b", "[{i k [{a }]} {j k [{b }]}]"},
		{"i j", "k l", "a", "[{i k [{a }]} {j l [{a }]}]"},
		{"i i j", "k k l", "a b c", "[{i k [{a }]} {i k [{b }]} {j l [{c }]}]"},
		{"i j", "k l", "a b c", "2 issuers of ID tokens with 2 key sets and 3 audiences"},
		{"i j", "k l m", "a", "2 issuers of ID tokens with 3 key sets and 1 audiences"},
		{"i j k", "k l", "a", "3 issuers of ID tokens with 2 key sets and 1 audiences"},
		{"i", "", "", "no keys to verify them with"},
		{"", "", "a", "no keys to verify them with"},
		{"", "k", "a", "need an issuer and an audience"},
		{"i", "k", "", "need an issuer and an audience"},
	} {
		var audiences []Audience
		for _, name := range strings.Fields(c.audiences) {
			audiences = append(audiences, Audience{Name: name})
		}
		list, err := Providers(strings.Fields(c.issuers), strings.Fields(c.keySets), audiences)
		got := fmt.Sprint(list)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("Providers(%q, %q, %q) = %s, want %s", c.issuers, c.keySets, c.audiences, got, c.want)
		}
	}
}

// The issuer, the audience and the key of a token belong to one provider, also
// where providers use the same name for different keys.
func TestProvidersAreBound(t *testing.T) {
	const other = "https://id.example.com"
	mine := writeKeys(t, jwk(&rsaKey().PublicKey, "one", nil), jwk(&ecKey().PublicKey, "ec", nil))
	theirs := writeKeys(t, jwk(&otherRSA().PublicKey, "one", nil))
	a, err := New(Options{
		Providers: []Provider{
			{issuer, mine, []Audience{{"shop-project", ""}}},
			{other, theirs, []Audience{{"their-project", ""}}},
			{issuer, mine, []Audience{{"test-project", "test"}}},
		},
		Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	if len(a.sources) != 2 {
		t.Errorf("%d key sets are read, want 2", len(a.sources))
	}
	claims := func(iss, aud string) string {
		return withTimes(`"iss":"`+iss+`","aud":"`+aud+`","sub":"ana"`, -60, 3600)
	}
	for _, c := range []struct {
		iss, aud, kid string
		key           any
		shop, test    error
	}{
		{issuer, "shop-project", "one", rsaKey(), nil, nil},
		{other, "their-project", "one", otherRSA(), nil, nil},
		{issuer, "test-project", "one", rsaKey(), ErrInvalid, nil},
		{issuer, "their-project", "one", rsaKey(), ErrInvalid, ErrInvalid},
		{other, "shop-project", "one", otherRSA(), ErrInvalid, ErrInvalid},
		{issuer, "shop-project", "one", otherRSA(), ErrInvalid, ErrInvalid},
		{other, "their-project", "one", rsaKey(), ErrInvalid, ErrInvalid},
		{other, "their-project", "two", rsaKey(), ErrUnknownKid, ErrUnknownKid},
		{other + "/", "their-project", "one", otherRSA(), ErrInvalid, ErrInvalid},
	} {
		token := sign("RS256", c.kid, claims(c.iss, c.aud), c.key)
		for ns, want := range map[string]error{"shop": c.shop, "test": c.test} {
			if _, err := a.Token(ns, token); !errors.Is(err, want) {
				t.Errorf("%s for %s, key %s, in %s: %v, want %v", c.iss, c.aud, c.kid, ns, err, want)
			}
		}
	}
	if _, err := a.Token("shop", sign("ES256", "ec", claims(other, "their-project"), ecKey())); !errors.Is(err, ErrUnknownKid) {
		t.Errorf("a key of another issuer: %v, want %v", err, ErrUnknownKid)
	}
}
