package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// now is the time of all tests.
var now = time.Unix(1_790_000_000, 0)

const (
	secret = "a-secret-of-all-databases"
	issuer = "https://id.example.org"
)

// Keys take long to make, so tests share them.
var (
	rsaKey   = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	otherRSA = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	ecKey    = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// jwk returns a public key as a JSON Web Key with the members of more.
func jwk(key crypto.PublicKey, kid string, more map[string]any) map[string]any {
	b64 := base64.RawURLEncoding.EncodeToString
	m := map[string]any{"kid": kid, "use": "sig"}
	switch k := key.(type) {
	case *rsa.PublicKey:
		m["kty"], m["alg"], m["n"], m["e"] = "RSA", "RS256", b64(k.N.Bytes()), b64(big.NewInt(int64(k.E)).Bytes())
	case *ecdsa.PublicKey:
		point := must(k.Bytes())
		size := (len(point) - 1) / 2
		m["kty"], m["crv"], m["x"], m["y"] = "EC", k.Params().Name, b64(point[1:1+size]), b64(point[1+size:])
	}
	for name, v := range more {
		m[name] = v
	}
	return m
}

func jwks(keys ...map[string]any) []byte {
	return must(json.Marshal(map[string]any{"keys": keys}))
}

// writeKeys writes a key set and returns its file.
func writeKeys(t *testing.T, keys ...map[string]any) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(file, jwks(keys...), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// sign returns a token. Claims are given as JSON, kid is left out if it is "".
func sign(alg, kid, claims string, key any) string {
	t := jwt.New(jwt.GetSigningMethod(alg))
	if kid != "" {
		t.Header["kid"] = kid
	}
	return signed(t.Header, claims, key)
}

// signed is sign for any header, with the algorithm that is in it.
func signed(header map[string]any, claims string, key any) string {
	b64 := base64.RawURLEncoding.EncodeToString
	text := b64(must(json.Marshal(header))) + "." + b64([]byte(claims))
	sig := must(jwt.GetSigningMethod(header["alg"].(string)).Sign(text, key))
	return text + "." + b64(sig)
}

// withTimes returns claims with an iat of some seconds ago and an exp in some.
func withTimes(claims string, iat, exp int) string {
	times := fmt.Sprintf(`"iat":%d,"exp":%d`, now.Unix()+int64(iat), now.Unix()+int64(exp))
	if claims == "" {
		return "{" + times + "}"
	}
	return "{" + claims + "," + times + "}"
}

// idClaims are those of an ID token that is good, but for the members of more.
func idClaims(more string) string {
	claims := `"iss":"` + issuer + `","aud":"shop-project","sub":"ana"`
	if more != "" {
		claims += "," + more
	}
	return withTimes(claims, -60, 3600)
}

// newTest returns an authority that believes a secret, one more in the
// namespace shop, the keys rsa and ec for the audience shop-project in shop and
// for any-project everywhere, and the accounts of a new directory.
func newTest(t *testing.T) *Authority {
	t.Helper()
	a, err := New(Options{
		DataDir: t.TempDir(),
		Secrets: []Secret{{Value: secret}, {Value: "a-secret-of-the-shop", Namespaces: []string{"shop"}}},
		Providers: []Provider{{
			KeySet:    writeKeys(t, jwk(&rsaKey().PublicKey, "rsa", nil), jwk(&ecKey().PublicKey, "ec", nil)),
			Issuer:    issuer,
			Audiences: []Audience{{"shop-project", "shop"}, {"any-project", ""}},
		}},
		Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// newAccount adds an account and returns it with its private key.
func newAccount(t *testing.T, a *Authority, name string, namespaces ...string) (*Account, *rsa.PrivateKey) {
	t.Helper()
	account, file, err := NewAccount(name, "dogwood", "http://localhost:9000/token", namespaces, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.accounts.Add(account); err != nil {
		t.Fatal(err)
	}
	var key accountKey
	if err := json.Unmarshal(file, &key); err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(key.PrivateKey))
	return account, must(x509.ParsePKCS8PrivateKey(block.Bytes)).(*rsa.PrivateKey)
}
