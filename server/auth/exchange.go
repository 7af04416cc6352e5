package auth

import (
	"fmt"
	"slices"
	"time"
)

// googleTokenURI is the audience of assertions by libraries that do not ask the
// key file for it. They reach us through a proxy or an agent.
const googleTokenURI = "https://oauth2.googleapis.com/token"

// Exchange returns an access token for an assertion: a JWT in which a service
// account names itself, signed with its key (RFC 7523). The assertion is for
// the account's token_uri, is valid now, and for not longer than an hour.
func (a *Authority) Exchange(assertion string) (access string, err error) {
	t, err := parseToken(assertion)
	if err != nil {
		return "", err
	}
	account, err := a.issuer(t)
	if err != nil {
		return "", err
	}
	if !account.signed(t) {
		return "", invalid("the service account's key did not sign it")
	}
	if !slices.ContainsFunc(t.claims.strings("aud"), func(aud string) bool { return aud == account.TokenURI || aud == googleTokenURI }) {
		return "", invalid(fmt.Sprintf("its audience (aud) is not %s", account.TokenURI))
	}
	now := a.opts.Now()
	issued, expires, err := t.claims.lifetime(now, a.opts.Skew)
	if err != nil {
		return "", err
	}
	if _, named := t.claims["exp"]; !named || issued.IsZero() || expires.Sub(issued) > time.Hour+a.opts.Skew {
		return "", invalid("it is valid for longer than an hour, or does not say from when until when")
	}
	return a.access.issue(accessGrant{account.Name, account.Key, now.Add(AccessLife).Unix()})
}
