package auth

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
)

// maxReasonText bounds each text of a refused token that the log quotes: anybody can
// send one.
const maxReasonText = 200

// Reason says for the log why a credential was refused for a namespace, with what the
// credential says of itself and what was expected. It never has the credential, nor a
// part of its signature. why is what Token, Bearer or Exchange returned.
func (a *Authority) Reason(ns, text string, why error) []any {
	args := []any{"reason", reasonOf(why)}
	t, err := parseToken(text)
	if err != nil {
		return args
	}
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

func reasonOf(why error) string {
	refused := (*refusal)(nil)
	switch {
	case errors.As(why, &refused):
		return refused.reason
	case errors.Is(why, ErrUnsigned):
		return "it is not signed (alg is none), and only dogwood dev accepts such tokens"
	case errors.Is(why, ErrRevoked):
		return "it was revoked"
	case errors.Is(why, ErrExpired):
		return "it has expired"
	case errors.Is(why, ErrMissingKid):
		return "its header names no key (kid)"
	case errors.Is(why, ErrUnknownKid):
		return "no key set has the key that it names (kid)"
	}
	return "it names no user, or cannot be decided"
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
