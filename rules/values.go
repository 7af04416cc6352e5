package rules

import (
	"encoding/json"
	"regexp"

	"github.com/dogwooddb/dogwood/tree"
)

// While an expression is evaluated its values are of these Go types:
//
//	nil, bool, float64, string   null and the primitives
//	object                       a node that has children
//	map[string]any, []any        auth and the objects and arrays inside it
//	*snapshot                    a snapshot
//	opaque                       what can be named but has no value
//
// An object stands for all nodes with children: rules can't tell them apart.
type object struct{}

// An opaque is a method that is not called, a regular expression or query. The
// types of an expression allow them as branches of a ternary.
type opaque struct{ what string }

// equal reports whether two values are the same primitive, or both null. Values
// of different types are unequal, and so are objects, even an object and itself.
func equal(x, y any) bool {
	switch x := x.(type) {
	case nil:
		return y == nil
	case bool:
		b, ok := y.(bool)
		return ok && b == x
	case float64:
		f, ok := y.(float64)
		return ok && f == x
	case string:
		s, ok := y.(string)
		return ok && s == x
	}
	return false
}

// valueOf returns what a stored node is in an expression.
func valueOf(n tree.Node) any {
	text := n.Text()
	if text == "" {
		return nil
	}
	if n.IsObject() {
		return object{}
	}
	if s, ok := n.StringValue(); ok {
		return s
	}
	if b, ok := n.BoolValue(); ok {
		return b
	}
	f, _ := n.NumberValue()
	return f
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
	case object, map[string]any:
		return "an object"
	case []any:
		return "an array"
	case *snapshot:
		return "a snapshot"
	case opaque:
		return v.what
	case *regexp.Regexp:
		return "a regular expression"
	}
	return "something else"
}

// maxText bounds the text of a value in a trace.
const maxText = 200

// textOf returns a value as traces show it: JSON, shortened.
func textOf(v any) string {
	switch v := v.(type) {
	case float64:
		return numberText(v)
	case object:
		return "{…}"
	case opaque:
		return v.what
	case string:
		return shorten(tree.String(head(v, 2*maxText)).Text()) // quoting makes nothing shorter
	}
	b, err := json.Marshal(v)
	if err != nil {
		return kindOf(v)
	}
	return shorten(string(b))
}

// shorten cuts a text at a character's end.
func shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	return head(s, maxText) + "…"
}

// head returns the first n bytes of s, or a little less, up to a character's end.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
