package rules

import (
	"encoding/json"

	"github.com/dogwooddb/dogwood/rules/internal/eval"
)

// An Auth is what rules see of a caller: the variable auth. The zero Auth is a
// signed-out caller, whose auth is null.
type Auth struct {
	UID   string
	Token string // the claims as JSON object text, "" if there are none
	JSON  string // the whole variable as JSON object text, "" for null

	decoded *eval.Claims // of JSON; nil: decode it when it is asked for
}

// NewAuth returns the Auth whose variable is the given JSON object; "" and
// "null" are a signed-out caller. It decodes the text once, so that decisions
// for this caller need not.
func NewAuth(text string) Auth {
	if text == "" || text == "null" {
		return Auth{}
	}
	a := Auth{JSON: text, decoded: eval.DecodeClaims(text)}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) == nil {
		a.Token = string(members["token"])
		a.UID, _ = a.decoded.Member("uid").(string)
	}
	return a
}

// IsNull reports whether the caller is signed out.
func (a Auth) IsNull() bool { return a.JSON == "" }

// Provider returns the member provider of the variable, "" if it has none.
func (a Auth) Provider() string {
	c := a.decoded
	if c == nil {
		c = eval.DecodeClaims(a.JSON)
	}
	name, _ := c.Member("provider").(string)
	return name
}
