package dogwood

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// A TokenSource returns the credential that a client signs in with: a JWT, or
// for an administrator an access token or a secret; "" stays signed out. It is
// asked whenever the client connects. refresh says that the last one was refused
// or has expired, so that it must not come from a cache.
type TokenSource func(ctx context.Context, refresh bool) (string, error)

// StaticToken is the source of a credential that never changes.
func StaticToken(token string) TokenSource {
	return func(context.Context, bool) (string, error) { return token, nil }
}

// authAction returns the request that a credential is sent with: all JWTs that
// say when they were issued are of users (wire protocol §9).
func authAction(credential string) string {
	if isUserToken(credential) {
		return wire.ActionAuth
	}
	return wire.ActionAdminAuth
}

func isUserToken(credential string) bool {
	parts := strings.Split(credential, ".")
	if len(parts) != 3 {
		return false
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return false
	}
	var claims map[string]json.RawMessage
	if json.Unmarshal(text, &claims) != nil {
		return false
	}
	_, ok := claims["iat"]
	return ok
}
