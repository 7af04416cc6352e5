package connect

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"
)

// tokenLife is how long tokens of users are good for: longer than any run.
const tokenLife = 24 * time.Hour

// UserToken returns a token that signs a user in. Where the administrator has a
// secret, the secret signs it, in the form that secrets of databases have signed
// since before there were identity providers (REST §6). A development server
// accepts unsigned tokens.
func UserToken(secret, uid string, now time.Time) string {
	if secret == "" || secret == owner {
		return encodeToken("none", map[string]any{
			"sub": uid, "user_id": uid, "iat": 0, "exp": 3600,
			"firebase": map[string]any{"sign_in_provider": "custom", "identities": map[string]any{}},
		}) + "."
	}
	text := encodeToken("HS256", map[string]any{
		"v": 0, "d": map[string]any{"uid": uid, "provider": "custom"},
		"iat": now.Unix(), "exp": now.Add(tokenLife).Unix(),
	})
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// encodeToken returns header and claims of a token.
func encodeToken(alg string, claims map[string]any) string {
	return encodePart(map[string]any{"alg": alg, "typ": "JWT"}) + "." + encodePart(claims)
}

func encodePart(v map[string]any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and integers only
	}
	return base64.RawURLEncoding.EncodeToString(text)
}
