package connect

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

func TestUserToken(t *testing.T) {
	now := time.Unix(1795239618, 0)
	claims := func(token string) string {
		parts := strings.Split(token, ".")
		if len(parts) != 3 {
			t.Fatalf("token %s has %d parts", token, len(parts))
		}
		text, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, secret := range []string{"", "owner"} {
		token := UserToken(secret, "u1", now)
		if got := claims(token); !strings.HasSuffix(token, ".") || !strings.Contains(got, `"sub":"u1"`) || !strings.Contains(got, `"iat":0`) {
			t.Errorf("unsigned token %s: %s", token, got)
		}
	}
	token := UserToken("a secret of some length", "u1", now)
	if got, want := claims(token), `{"d":{"provider":"custom","uid":"u1"},"exp":1795326018,"iat":1795239618,"v":0}`; got != want {
		t.Errorf("claims %s, want %s", got, want)
	}
	i := strings.LastIndexByte(token, '.')
	mac := hmac.New(sha256.New, []byte("a secret of some length"))
	mac.Write([]byte(token[:i]))
	if want := base64.RawURLEncoding.EncodeToString(mac.Sum(nil)); token[i+1:] != want {
		t.Errorf("signature %s, want %s", token[i+1:], want)
	}
}
