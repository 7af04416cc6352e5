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
// asked whenever the client connects, by one goroutine at a time. refresh says that
// the last one was refused or has expired, so that it must not come from a cache.
//
// ctx ends with the client. Close does not wait for a source that goes on after
// that: its goroutine is left until it returns, and what it returns is not used.
type TokenSource func(ctx context.Context, refresh bool) (string, error)

// ask returns what the source does, or the error of ctx if that ends before. The
// source is code of the application, which may ignore ctx.
func (s TokenSource) ask(ctx context.Context, refresh bool) (string, error) {
	type answer struct {
		credential string
		err        error
	}
	answers := make(chan answer, 1)
	go func() {
		credential, err := s(ctx, refresh)
		answers <- answer{credential, err}
	}()
	select {
	case a := <-answers:
		return a.credential, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// StaticToken is the source of a credential that never changes.
func StaticToken(token string) TokenSource {
	return func(context.Context, bool) (string, error) { return token, nil }
}

// authAction returns the request that a credential is sent with: all JWTs that
// say when they were issued are of users (protocol §9).
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
