package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// maxReasonText bounds each text of a refused token that the log quotes: anybody can
// send one.
const maxReasonText = 200

// Reason says for the log why a credential was refused for a namespace, with what the
// credential says of itself and what was expected. It never has the credential, nor a
// part of its signature. It costs as much as deciding the credential, so it is for
// a line now and then. why is what Token, Bearer or Exchange returned.
func (a *Authority) Reason(ns, text string, why error) []any {
	t, err := parseToken(text)
	if err != nil {
		return []any{"reason", a.reasonOfText(text, why)}
	}
	args := []any{"reason", a.reason(ns, t, why)}
	for _, name := range []string{"alg", "kid"} {
		args = appendClaim(args, t.header, name)
	}
	for _, name := range []string{"iss", "aud", "iat", "nbf", "auth_time", "exp"} {
		args = appendClaim(args, t.claims, name)
	}
	issuers, audiences := a.expected(ns)
	if t.alg() == "HS256" && ns != "" {
		audiences = append(audiences, ns)
	}
	return append(args,
		slog.String("expected_iss", strings.Join(issuers, ", ")),
		slog.String("expected_aud", strings.Join(audiences, ", ")),
		slog.Time("now", a.opts.Now()))
}

func appendClaim(args []any, c Claims, name string) []any {
	v, ok := c[name]
	if !ok {
		return args
	}
	text, ok := v.(string)
	if !ok {
		src, err := json.Marshal(v)
		if err != nil {
			return args
		}
		text = string(src)
	}
	return append(args, slog.String(name, text[:min(len(text), maxReasonText)]))
}

// expected returns the issuers of ID tokens, and what tokens for a namespace may have
// as aud.
func (a *Authority) expected(ns string) (issuers, audiences []string) {
	for _, p := range a.providers {
		issuers = append(issuers, p.Issuer)
	}
	for _, audience := range a.audiences {
		if audience.Namespace == "" || audience.Namespace == ns {
			audiences = append(audiences, audience.Name)
		}
	}
	return issuers, audiences
}

// reasonOfText is the reason for what is no JSON Web Token.
func (a *Authority) reasonOfText(text string, why error) string {
	_, access := a.access.read(text)
	switch {
	case errors.Is(why, ErrRevoked):
		return "the service account of the access token was revoked"
	case errors.Is(why, ErrExpired):
		return "the access token has expired"
	case access:
		return "the service account of the access token is not for this database"
	case strings.HasPrefix(text, accessPrefix):
		return "this server did not issue the access token"
	}
	return "it is no secret for this database and no token"
}

// reason is the reason for a token.
func (a *Authority) reason(ns string, t token, why error) string {
	switch {
	case errors.Is(why, ErrRevoked):
		return "it was revoked"
	case errors.Is(why, ErrExpired):
		return "it has expired"
	case errors.Is(why, ErrMissingKid):
		return "its header names no key (kid)"
	case errors.Is(why, ErrUnknownKid):
		return "no key set has the key that it names (kid)"
	}
	if text := a.reasonOfSigner(ns, t); text != "" {
		return text
	}
	if _, _, err := t.claims.lifetime(a.opts.Now(), a.opts.Skew); err != nil {
		return "it is not valid yet, or does not say until when"
	}
	return "it names no user, or is not accepted in this place"
}

// reasonOfSigner returns why the signer of a token is not accepted, "" if it is.
func (a *Authority) reasonOfSigner(ns string, t token) string {
	issuer := t.claims.Text("iss")
	switch alg := t.alg(); {
	case alg == "HS256" && !a.secrets.Load().signed(ns, t):
		return "no secret for this database signed it"
	case alg == "HS256" && !a.isFor(ns, t.claims, ns):
		return "its audience (aud) is not the database"
	case alg == "HS256":
		return ""
	case alg != "RS256" && alg != "ES256":
		return "its algorithm (alg) is not accepted"
	case isAccount(issuer):
		return a.reasonOfAccount(ns, t)
	}
	for _, p := range a.providers {
		if p.Issuer == issuer {
			return reasonOfProvider(ns, t, p)
		}
	}
	return "its issuer (iss) is not one of --issuer"
}

func (a *Authority) reasonOfAccount(ns string, t token) string {
	account, err := a.accounts.byEmail(t.claims.Text("iss"))
	switch {
	case err != nil:
		return "there is no such service account"
	case !account.signed(t):
		return "the service account's key did not sign it"
	case !covers(account.Namespaces, ns):
		return "the service account is not for this database"
	}
	return fmt.Sprintf("its audience (aud) is neither %s nor that of a database", account.TokenURI)
}

func reasonOfProvider(ns string, t token, p provider) string {
	_, expires := t.claims["exp"]
	_, issued := t.claims["iat"]
	key, ok := p.keys.find(t)
	switch {
	case !isFor(ns, t.claims, p.Audiences):
		return "its audience (aud) is not one of --audience"
	case !expires || !issued:
		return "it does not say from when or until when it is valid (iat, exp)"
	case !ok || !t.verify(key):
		return "the key that it names (kid) did not sign it"
	}
	return ""
}
