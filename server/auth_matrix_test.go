package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/golang-jwt/jwt/v5"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/server/auth"
)

// TestDoors presents every kind of credential at every door, to a server in dev
// mode and to one that serves, and compares what happens with
// testdata/auth/doors.txt. -rewrite records it anew. The commands are
//
//	dev NAME, serve NAME   present the credential NAME of newCredentials
//
// The output has one line for each way to present a credential and each
// outcome, and in it all doors with that outcome. A 200 is "allowed".
func TestDoors(t *testing.T) {
	tier.Unraced(t)
	tier.Need(t, tier.Full)
	t.Cleanup(func() { leaktest.Verify(t) })
	issuers := newIssuers(t)
	servers := map[string]*doors{"dev": issuers.open(t, true), "serve": issuers.open(t, false)}
	credentials := issuers.credentials(t, servers["serve"])
	missing := map[string]bool{}
	for name := range credentials {
		missing["dev "+name], missing["serve "+name] = true, true
	}
	datadriven.RunTest(t, "../testdata/auth/doors.txt", func(t *testing.T, d *datadriven.TestData) string {
		name := d.CmdArgs[0].Key
		credential, ok := credentials[name]
		if !ok || servers[d.Cmd] == nil {
			t.Fatalf("no server %s or no credential %s", d.Cmd, name)
		}
		delete(missing, d.Cmd+" "+name)
		got := servers[d.Cmd].try(t, credential)
		if !importsEachWay() && got == importedOnce(d.Expected) {
			return d.Expected
		}
		return got
	})
	for name := range missing {
		t.Errorf("%s is not in the file", name)
	}
}

// issuers are those whose word a server may take, and keys that it must not
// believe.
type issuers struct {
	dir       string
	rsa, evil *rsa.PrivateKey
	ec        *ecdsa.PrivateKey
	accounts  map[string]*rsa.PrivateKey
}

const (
	matrixSecret = "the-secret-of-all-databases"
	shopSecret   = "the-secret-of-the-shop-only"
	matrixIssuer = "https://id.example.org"
	tokenURI     = "https://db.example.org/token"
)

// matrixRules let a user use what is hers.
const matrixRules = `{"rules":{"users":{"$uid":{".read":"auth.uid === $uid",".write":"auth.uid === $uid"}}}}`

func newIssuers(t *testing.T) *issuers {
	t.Helper()
	key := func() *rsa.PrivateKey {
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	i := &issuers{dir: t.TempDir(), rsa: key(), evil: key(), accounts: map[string]*rsa.PrivateKey{}}
	var err error
	if i.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"backend", "shop-only", "revoked"} {
		i.account(t, name)
	}
	return i
}

func (i *issuers) account(t *testing.T, name string) {
	t.Helper()
	var namespaces []string
	if name == "shop-only" {
		namespaces = []string{"shop"}
	}
	account, file, err := auth.NewAccount(name, "dogwood", tokenURI, namespaces, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := auth.AccountsOf(i.dir).Add(account); err != nil {
		t.Fatal(err)
	}
	var key struct {
		PrivateKey string `json:"private_key"`
	}
	if err := json.Unmarshal(file, &key); err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(key.PrivateKey))
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	i.accounts[name] = private.(*rsa.PrivateKey)
}

// keySet writes the public keys and returns the file.
func (i *issuers) keySet(t *testing.T) string {
	t.Helper()
	b64 := base64.RawURLEncoding.EncodeToString
	point, err := i.ec.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	src, err := json.Marshal(map[string]any{"keys": []map[string]string{
		{"kid": "rsa", "kty": "RSA", "alg": "RS256", "n": b64(i.rsa.N.Bytes()), "e": b64(big.NewInt(int64(i.rsa.E)).Bytes())},
		{"kid": "ec", "kty": "EC", "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])},
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(file, src, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// open starts a server with the databases test and shop.
func (i *issuers) open(t *testing.T, dev bool) *doors {
	t.Helper()
	o := Options{Dev: dev, Namespaces: []string{"test", "shop"}}
	if !dev {
		o.Dir = i.dir
		o.AdminSecrets = []string{matrixSecret}
		o.Auth = auth.Options{
			Secrets: []auth.Secret{{Value: shopSecret, Namespaces: []string{"shop"}}},
			Providers: []auth.Provider{{
				Issuer:    matrixIssuer,
				KeySet:    i.keySet(t),
				Audiences: []auth.Audience{{Name: "test-project", Namespace: "test"}, {Name: "shop-project", Namespace: "shop"}},
			}},
		}
	}
	ts := serveTest(t, o)
	d := &doors{testServer: ts, n: &network{ts.Server, t, func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", ts.addr)
	}}}
	secret := http.Header{"Authorization": {"Bearer " + matrixSecret}}
	if r := ts.do(call{"PUT", "/.settings/rules.json?ns=test", secret, matrixRules}); r.StatusCode != 200 {
		t.Fatalf("set rules: %d %s", r.StatusCode, r.body)
	}
	return d
}

// idClaims are those of a good ID token for the database test, but for changes,
// in which nil removes a claim.
func idClaims(changes jwt.MapClaims) jwt.MapClaims {
	now := time.Now().Unix()
	c := jwt.MapClaims{"iss": matrixIssuer, "aud": "test-project", "sub": "ana", "iat": now - 10, "exp": now + 3600, "auth_time": now - 10}
	return changed(c, changes)
}

// customClaims is idClaims for a custom token.
func customClaims(changes jwt.MapClaims) jwt.MapClaims {
	now := time.Now().Unix()
	return changed(jwt.MapClaims{"uid": "ana", "iat": now - 10, "exp": now + 3600}, changes)
}

// accountClaims is idClaims for what a service account signs.
func accountClaims(account, audience string, changes jwt.MapClaims) jwt.MapClaims {
	now, email := time.Now().Unix(), account+"@dogwood.invalid"
	return changed(jwt.MapClaims{"iss": email, "sub": email, "aud": audience, "iat": now - 10, "exp": now + 3000}, changes)
}

func changed(c, changes jwt.MapClaims) jwt.MapClaims {
	for name, v := range changes {
		if c[name] = v; v == nil {
			delete(c, name)
		}
	}
	return c
}

// credentials returns all credentials that are presented, by name. Access tokens
// come from a server.
func (i *issuers) credentials(t *testing.T, from *doors) map[string]string {
	t.Helper()
	sign := func(m jwt.SigningMethod, kid string, claims jwt.MapClaims, key any) string {
		token := jwt.NewWithClaims(m, claims)
		if kid != "" {
			token.Header["kid"] = kid
		}
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	rs := func(changes jwt.MapClaims) string {
		return sign(jwt.SigningMethodRS256, "rsa", idClaims(changes), i.rsa)
	}
	hs := func(changes jwt.MapClaims) string {
		return sign(jwt.SigningMethodHS256, "", customClaims(changes), []byte(matrixSecret))
	}
	none := func(claims jwt.MapClaims) string {
		return sign(jwt.SigningMethodNone, "", claims, jwt.UnsafeAllowNoneSignatureType)
	}
	assertion := func(account string) string { return i.assertion(t, account) }
	custom := func(account string) string {
		const audience = "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
		return sign(jwt.SigningMethodRS256, "", accountClaims(account, audience, jwt.MapClaims{"uid": "ana"}), i.accounts[account])
	}
	access := func(account string) string { return from.exchange(t, assertion(account)) }
	public, err := x509.MarshalPKIXPublicKey(&i.rsa.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	ago := func(d time.Duration) int64 { return time.Now().Add(-d).Unix() }

	list := map[string]string{
		"none":                        "",
		"owner":                       "owner",
		"id-token":                    rs(nil),
		"id-token-es256":              sign(jwt.SigningMethodES256, "ec", idClaims(nil), i.ec),
		"id-token-expired":            rs(jwt.MapClaims{"exp": ago(time.Hour)}),
		"id-token-not-yet":            rs(jwt.MapClaims{"nbf": ago(-time.Hour)}),
		"id-token-other-database":     rs(jwt.MapClaims{"aud": "shop-project"}),
		"id-token-wrong-audience":     rs(jwt.MapClaims{"aud": "elsewhere"}),
		"id-token-wrong-issuer":       rs(jwt.MapClaims{"iss": "https://id.example.com"}),
		"id-token-revoked":            rs(jwt.MapClaims{"sub": "rita"}),
		"id-token-forged":             sign(jwt.SigningMethodRS256, "rsa", idClaims(nil), i.evil),
		"id-token-forged-es256":       sign(jwt.SigningMethodRS256, "ec", idClaims(nil), i.rsa),
		"id-token-without-kid":        sign(jwt.SigningMethodRS256, "", idClaims(nil), i.rsa),
		"id-token-unknown-kid":        sign(jwt.SigningMethodRS256, "old", idClaims(nil), i.rsa),
		"public-key-as-secret":        sign(jwt.SigningMethodHS256, "rsa", idClaims(jwt.MapClaims{"uid": "ana"}), publicPEM),
		"unsigned":                    none(idClaims(nil)),
		"unsigned-mock":               none(jwt.MapClaims{"sub": "ana", "iat": 0, "exp": 3600}),
		"unsigned-admin":              none(jwt.MapClaims{"v": 0, "admin": true, "d": jwt.MapClaims{"uid": "ana"}, "iat": ago(0)}),
		"custom-token":                hs(nil),
		"custom-token-for-this":       hs(jwt.MapClaims{"aud": "test"}),
		"custom-token-other-database": hs(jwt.MapClaims{"aud": "shop"}),
		"custom-token-expired":        hs(jwt.MapClaims{"exp": ago(time.Hour)}),
		"custom-token-other-secret":   sign(jwt.SigningMethodHS256, "", customClaims(nil), []byte(shopSecret)),
		"legacy-token":                hs(jwt.MapClaims{"v": 0, "d": jwt.MapClaims{"uid": "ana"}, "uid": nil}),
		"legacy-token-admin":          hs(jwt.MapClaims{"v": 0, "admin": true, "uid": nil}),
		"account-token":               custom("backend"),
		"account-token-other":         custom("shop-only"),
		"account-token-revoked":       custom("revoked"),
		"malformed":                   "a.b.c",
		"garbage":                     "garbage",
		"oversized":                   hs(jwt.MapClaims{"claims": jwt.MapClaims{"x": strings.Repeat("x", auth.MaxTokenBytes*3/4)}}),
		"secret":                      matrixSecret,
		"secret-other-database":       shopSecret,
		"access-token":                access("backend"),
		"access-token-forged":         access("backend")[1:],
		"access-token-other-database": access("shop-only"),
		"access-token-revoked":        access("revoked"),
		"assertion":                   assertion("backend"),
		"assertion-revoked":           assertion("revoked"),
	}
	if err := auth.AccountsOf(i.dir).Revoke("revoked"); err != nil {
		t.Fatal(err)
	}
	if err := auth.RevocationsOf(i.dir).Revoke("rita", time.Now()); err != nil {
		t.Fatal(err)
	}
	return list
}

// assertion returns what an account exchanges for an access token.
func (i *issuers) assertion(t *testing.T, account string) string {
	t.Helper()
	text, err := jwt.NewWithClaims(jwt.SigningMethodRS256, accountClaims(account, tokenURI, nil)).SignedString(i.accounts[account])
	if err != nil {
		t.Fatal(err)
	}
	return text
}
