package rules

import (
	"encoding/json"
	"strconv"
)

// An Auth is what rules see of a caller: the variable auth. The zero Auth is a
// signed-out caller, whose auth is null.
type Auth struct {
	UID   string
	Token string // the claims as JSON object text, "" if there are none
	JSON  string // the whole variable as JSON object text, "" for null

	decoded *claims // of JSON; nil: decode it when it is asked for
}

// NewAuth returns the Auth whose variable is the given JSON object; "" and
// "null" are a signed-out caller. It decodes the text once, so that decisions
// for this caller need not.
func NewAuth(text string) Auth {
	if text == "" || text == "null" {
		return Auth{}
	}
	a := Auth{JSON: text, decoded: decodeClaims(text)}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) == nil {
		a.Token = string(members["token"])
		a.UID, _ = member(a.decoded.value, "uid").(string)
	}
	return a
}

// IsNull reports whether the caller is signed out.
func (a Auth) IsNull() bool { return a.JSON == "" }

// Provider returns the member provider of the variable, "" if it has none.
func (a Auth) Provider() string {
	c := a.decoded
	if c == nil {
		c = decodeClaims(a.JSON)
	}
	name, _ := member(c.value, "provider").(string)
	return name
}

// claims is the decoded variable auth. Its objects are map[string]any, its
// arrays []any, its numbers float64.
type claims struct {
	value any
	err   error
}

func decodeClaims(text string) *claims {
	c := new(claims)
	c.err = json.Unmarshal([]byte(text), &c.value)
	return c
}

// member returns a member of a claim. Whatever has none has null for each. An
// array has its indexes as members, as if it were stored.
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
