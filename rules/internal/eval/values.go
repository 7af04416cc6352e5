package eval

import (
	"github.com/dogwooddb/dogwood/rules/internal/snapshot"
	"github.com/dogwooddb/dogwood/rules/lang"
)

// While an expression is evaluated its values are of these Go types:
//
//	nil, bool, float64, string   null and the primitives
//	snapshot.Object              a node that has children
//	map[string]any, []any        auth and the objects and arrays inside it
//	*snapshot.Snapshot           a snapshot
//	opaque                       what can be named but has no value

// An opaque is a method that is not called, a regular expression or query. The
// types of an expression allow them as branches of a ternary.
type opaque struct{ what string }

// equal reports whether two values are the same primitive, or both null. Values
// of different types are unequal, and so are objects, even an object and itself.
func equal(x, y any) bool {
	switch x.(type) {
	case nil, bool, float64, string:
		return x == y
	}
	return false
}

// kindOf names what a value is, in error messages.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	case snapshot.Object, map[string]any:
		return "an object"
	case []any:
		return "an array"
	case *snapshot.Snapshot:
		return "a snapshot"
	case opaque:
		return v.what
	case words:
		return "words"
	}
	return "something else"
}

// IsTelling reports whether the value of x is worth noting. That of a literal is
// plain from the source.
func IsTelling(x lang.Expr) bool {
	switch x.(type) {
	case *lang.Literal, *lang.Regex, *lang.Array:
		return false
	}
	return true
}
