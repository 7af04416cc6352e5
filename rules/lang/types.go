package lang

import "strings"

// The sets of types that operands may have. An operand may also have other
// types, unless stated: then it is decided at run time.
const (
	values    = Any             // of == and !=
	ordered   = Number | String // of < <= > >= and +
	stored    = Any &^ Claims   // what val() returns
	priority  = Null | Number | String
	primitive = Null | Boolean | Number | String
)

var typeNames = [...]string{
	"null", "boolean", "number", "string", "object", "claims",
	"snapshot", "query", "regular expression", "list", "method", "words",
}

// String returns the names of the types in t: "null, number or string". All that
// auth and its members can be is "any".
func (t Type) String() string {
	if t == Any {
		return "any"
	}
	var names []string
	for i, name := range typeNames {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	switch n := len(names); n {
	case 0:
		return "nothing"
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
}
