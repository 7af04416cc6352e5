package auth

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// MaxTokenBytes bounds a token. Identity providers keep theirs below 8 KiB
// because they travel in headers.
const MaxTokenBytes = 64 << 10

// A token is a JSON Web Token that was taken apart. Nothing in it is to be
// believed before verify.
type token struct {
	header, claims Claims
	signed         string // what the signature is of
	signature      []byte
}

// parseToken takes a token apart. It does not look at the signature, which may
// be missing.
func parseToken(text string) (t token, err error) {
	parts := strings.SplitN(text, ".", 4)
	if len(text) > MaxTokenBytes || len(parts) != 3 {
		return token{}, ErrInvalid
	}
	t.signed = text[:len(parts[0])+1+len(parts[1])]
	var ok [3]bool
	t.header, ok[0] = parsePart(parts[0])
	t.claims, ok[1] = parsePart(parts[1])
	t.signature, ok[2] = decodePart(parts[2])
	if ok != [3]bool{true, true, true} {
		return token{}, ErrInvalid
	}
	return t, nil
}

func parsePart(part string) (Claims, bool) {
	src, ok := decodePart(part)
	if !ok {
		return nil, false
	}
	return ParseClaims(src)
}

// decodePart decodes base64 for URLs, with or without padding.
func decodePart(part string) ([]byte, bool) {
	src, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(part, "="))
	return src, err == nil
}

// methods are the algorithms of signatures that are accepted. What is not in
// the list, none among it, cannot be verified.
var methods = map[string]jwt.SigningMethod{
	"HS256": jwt.SigningMethodHS256,
	"RS256": jwt.SigningMethodRS256,
	"ES256": jwt.SigningMethodES256,
}

// verify reports whether the token was signed with key, which must be of the
// type that belongs to its algorithm.
func (t token) verify(key any) bool {
	m := methods[t.header.Text("alg")]
	return m != nil && m.Verify(t.signed, t.signature, key) == nil
}

// alg returns the algorithm, "" if the token demands what is not understood
// (RFC 7515 §4.1.11).
func (t token) alg() string {
	if _, critical := t.header["crit"]; critical {
		return ""
	}
	return t.header.Text("alg")
}

// kid returns the name of the key that signed the token.
func (t token) kid() (string, error) {
	v, present := t.header["kid"]
	if !present {
		return "", ErrMissingKid
	}
	kid, _ := v.(string)
	if kid == "" {
		return "", ErrUnknownKid
	}
	return kid, nil
}

// defaultLife is how long a token is valid that does not say until when. The
// libraries that make legacy tokens may leave it out.
const defaultLife = 24 * time.Hour

// lifetime returns when a token was issued, zero if it does not say, and when
// it expires. A clock that made it may differ from ours by skew.
func (c Claims) lifetime(now time.Time, skew time.Duration) (issued, expires time.Time, err error) {
	var times [4]time.Time
	for i, name := range []string{"iat", "exp", "nbf", "auth_time"} {
		t, ok := c.time(name)
		if !ok {
			return issued, expires, invalid(name + " is not a time")
		}
		times[i] = t
	}
	issued, expires = times[0], times[1]
	if expires.IsZero() {
		if issued.IsZero() {
			return issued, expires, invalid("it does not say until when it is valid")
		}
		expires = issued.Add(defaultLife)
	}
	for _, began := range []time.Time{issued, times[2], times[3]} {
		if began.After(now.Add(skew)) {
			return issued, expires, invalid("it is not valid yet")
		}
	}
	if !now.Before(expires) {
		if expires = expires.Add(skew); !now.Before(expires) {
			return issued, expires, ErrExpired
		}
	}
	return issued, expires, nil
}
