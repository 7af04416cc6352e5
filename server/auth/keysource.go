package auth

import (
	"context"
	"fmt"
	"net"
	"net/url"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

// A keySource is where a key set comes from.
type keySource interface {
	// find returns the key that a token names, after looking again if it is not
	// known. A key for another algorithm than the token's is not found.
	find(t token) (any, bool)
	close()
}

// newKeySource returns the key set at an address or in a file. A file must be
// there and be in order; an address is asked in the background, and again and
// again.
func newKeySource(place string, o Options) (keySource, error) {
	u, err := url.Parse(place)
	if err == nil && (u.Scheme == "https" || u.Scheme == "http") {
		if !safeURL(u) {
			return nil, fmt.Errorf("%s: keys must come over https", u.Redacted())
		}
		return newKeyURL(u, o), nil
	}
	return newKeyFile(place, o.Log)
}

// safeURL reports whether an answer of an address cannot be changed on its way.
func safeURL(u *url.URL) bool {
	if u.Scheme == "https" {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// lookup returns the key in keys that a token names, for the algorithm that it
// names. The error of a name that is not known is jwkset.ErrKeyNotFound.
func lookup(ctx context.Context, keys jwkset.Storage, t token) (any, error) {
	k, err := keyfunc.New(keyfunc.Options{Ctx: ctx, Storage: keys})
	if err != nil {
		return nil, err
	}
	return k.Keyfunc(&jwt.Token{Header: t.header})
}
