package eval

import (
	"encoding/json"
	"strconv"

	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// Uses returns what the last expression has used. The lists are valid until the
// next one.
func (e *Evaluation) Uses() Uses { return e.uses }

// auth returns the variable auth.
func (e *Evaluation) auth() any {
	e.uses.Claims = true
	if e.Auth == "" {
		return nil
	}
	if e.claims == nil {
		e.claims = DecodeClaims(e.Auth)
	}
	if e.claims.err != nil {
		return e.fail(lang.Any, msgBadAuth)
	}
	return e.claims.value
}

// signedIn reports whether auth is not null.
func (e *Evaluation) signedIn() bool {
	e.uses.Caller = true
	return e.Auth != ""
}

// clock returns the variable now.
func (e *Evaluation) clock() any {
	e.uses.Now = true
	if e.now == nil {
		e.now = float64(e.Now.UnixMilli())
	}
	return e.now
}

// capture returns the key that the capture at a depth of the rule's path has
// matched.
func (e *Evaluation) capture(depth int) string { return Capture(e.at, depth) }

// Capture returns the key of p at a depth.
func Capture(p tree.Path, depth int) string {
	for range depth {
		_, p, _ = p.Cut()
	}
	key, _, _ := p.Cut()
	return key
}

// Claims is the decoded variable auth. Its objects are map[string]any, its
// arrays []any, its numbers float64.
type Claims struct {
	value any
	err   error
}

// DecodeClaims decodes the JSON of a caller. The expressions that use it fail if
// it is no JSON.
func DecodeClaims(text string) *Claims {
	c := new(Claims)
	c.err = json.Unmarshal([]byte(text), &c.value)
	return c
}

// Member returns a member of the variable auth, nil if it has none of that name.
func (c *Claims) Member(name string) any { return member(c.value, name) }

// member returns a member of a claim. Every claim has every member, if only as
// null. An array has its indexes as members, as if it were stored.
func member(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[name]
	case []any:
		if i, err := strconv.Atoi(name); err == nil && 0 <= i && i < len(v) && strconv.Itoa(i) == name {
			return v[i]
		}
	case string:
		if name == "length" {
			return float64(lengthUTF16(v))
		}
	}
	return nil
}
