package auth

import (
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// A CustomToken says what a token is to say that CustomToken.Sign makes.
type CustomToken struct {
	UID       string
	Claims    Claims // more about the user, nil for nothing
	Namespace string // the database that it is for; "": every one that the secret is for
	Life      time.Duration
}

// ErrUID is returned for a UID that no user can have.
var ErrUID = fmt.Errorf("a user's id has 1 to %d bytes", maxUID)

// Sign returns a custom token that is signed with a secret and begins to be
// valid now.
func (c CustomToken) Sign(secret string, now time.Time) (string, error) {
	if c.UID == "" || len(c.UID) > maxUID {
		return "", ErrUID
	}
	if c.Life <= 0 {
		return "", fmt.Errorf("a token cannot be valid for %s", c.Life)
	}
	for name := range c.Claims {
		for _, own := range issued {
			if name == own {
				return "", fmt.Errorf("claim %s: it is set by whoever issues a token", name)
			}
		}
	}
	claims := jwt.MapClaims{"uid": c.UID, "iat": now.Unix(), "exp": now.Add(c.Life).Unix()}
	if c.Claims != nil {
		claims["claims"] = map[string]any(c.Claims)
	}
	if c.Namespace != "" {
		claims["aud"] = c.Namespace
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(secret))
	if err == nil && len(token) > MaxTokenBytes {
		err = fmt.Errorf("the token would have %d bytes, more than %d", len(token), MaxTokenBytes)
	}
	return token, err
}
