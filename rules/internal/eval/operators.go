package eval

import (
	"math"
	"strings"

	"github.com/dogwooddb/dogwood/rules/internal/snapshot"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// binary computes x op y for every operator but && and ||.
func (e *Evaluation) binary(op lang.Op, x, y any) any {
	switch op {
	case lang.Eq:
		return e.equal(x, y)
	case lang.Ne:
		return !e.equal(x, y)
	case lang.Lt, lang.Le, lang.Gt, lang.Ge:
		return e.order(op, x, y)
	case lang.Add:
		return e.add(x, y)
	}
	return e.arithmetic(op, x, y)
}

// equal is equal of two values that may be long.
func (e *Evaluation) equal(x, y any) bool {
	if s, ok := x.(string); ok {
		if t, ok := y.(string); ok {
			return e.same(s, t)
		}
	}
	return equal(x, y)
}

// same compares two strings. Those of different lengths cost nothing.
func (e *Evaluation) same(s, t string) bool {
	return len(s) == len(t) && e.charge(len(s)) && s == t
}

// order compares two numbers or two strings. There is no order between a number
// and a string (rules §5.3).
func (e *Evaluation) order(op lang.Op, x, y any) any {
	switch x := x.(type) {
	case float64:
		if y, ok := y.(float64); ok {
			return inOrder(op, x, y)
		}
	case string:
		if y, ok := y.(string); ok {
			if !e.charge(min(len(x), len(y))) {
				return false
			}
			return inOrder(op, tree.CompareUTF16(x, y), 0)
		}
	default:
		return e.reject(lang.Boolean, msgLeftSide, x)
	}
	switch y.(type) {
	case float64, string:
		return e.fail(lang.Boolean, msgOrder)
	}
	return e.reject(lang.Boolean, msgRightSide, y)
}

// inOrder computes x op y for an operator that orders.
func inOrder[T int | float64](op lang.Op, x, y T) bool {
	switch op {
	case lang.Lt:
		return x < y
	case lang.Le:
		return x <= y
	case lang.Gt:
		return x > y
	}
	return x >= y
}

// add adds two numbers, or joins two values of which one is a string.
func (e *Evaluation) add(x, y any) any {
	a, xIsNumber := x.(float64)
	b, yIsNumber := y.(float64)
	if xIsNumber && yIsNumber {
		return a + b
	}
	s, ok := addend(x)
	if !ok {
		return e.reject(lang.String, msgLeftAdd, x)
	}
	t, ok := addend(y)
	if !ok {
		return e.reject(lang.String, msgRightAdd, y)
	}
	if len(s)+len(t) > maxString {
		return e.fail(lang.String, msgTooLong)
	}
	if !e.charge(len(s) + len(t)) {
		return nil
	}
	return s + t
}

// addend returns what a value adds to a string.
func addend(v any) (s string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case float64:
		return numberText(v), true
	}
	return "", false
}

// arithmetic computes x op y for -, *, / and %, which need numbers.
func (e *Evaluation) arithmetic(op lang.Op, x, y any) any {
	a, ok := x.(float64)
	if !ok {
		return e.reject(lang.Number, msgLeft, x)
	}
	b, ok := y.(float64)
	if !ok {
		return e.reject(lang.Number, msgRight, y)
	}
	switch op {
	case lang.Sub:
		return a - b
	case lang.Mul:
		return a * b
	case lang.Rem:
		return math.Mod(a, b)
	}
	if b == 0 { // never infinity (rules §5.3)
		return math.NaN()
	}
	return a / b
}

// negate computes -x.
func (e *Evaluation) negate(x any) any {
	f, ok := x.(float64)
	if !ok {
		return e.reject(lang.Number, msgNegative, x)
	}
	return -f
}

// memberOf returns a property. Claims have every property, if only as null.
func (e *Evaluation) memberOf(x any, name string, t, result lang.Type) any {
	if s, ok := x.(string); ok && name == "length" && !e.charge(len(s)) {
		return zero(result)
	}
	if t&lang.Claims != 0 {
		return member(x, name)
	}
	switch x := x.(type) {
	case opaque: // a query that came through a ternary
		return e.queryMember(name)
	case *snapshot.Snapshot:
		return opaque{"a method"}
	case string:
		if name == "length" {
			return float64(lengthUTF16(x))
		}
		return opaque{"a method"}
	}
	return e.reject(result, "'"+name+"' needs a string", x)
}

// index returns a member of a claim by a computed name.
func (e *Evaluation) index(x, key any) any {
	switch key := key.(type) {
	case string:
		if s, ok := x.(string); ok && !e.charge(len(s)) {
			return nil
		}
		return member(x, key)
	case float64:
		return member(x, numberText(key))
	}
	return e.reject(lang.Any, msgKey, key)
}

// callMethod calls a method of strings.
func (e *Evaluation) callMethod(call stringMethod, result lang.Type, s string, args []string) any {
	n := len(s)
	for _, arg := range args {
		n += len(arg)
	}
	if !e.charge(n) {
		return zero(result)
	}
	return call(e, s, args)
}

// matches is the method matches.
func (e *Evaluation) matches(re *lang.Machine, s string) bool {
	matched, ok := e.Budget.Match(re, s)
	if !ok {
		e.fail(lang.Boolean, msgTooMuch)
	}
	return matched
}

// A stringMethod is a method of strings.
type stringMethod func(e *Evaluation, s string, args []string) any

// stringMethods are all methods of strings but matches, whose argument is no string.
var stringMethods = map[string]stringMethod{
	"contains":   func(_ *Evaluation, s string, args []string) any { return strings.Contains(s, args[0]) },
	"beginsWith": func(_ *Evaluation, s string, args []string) any { return strings.HasPrefix(s, args[0]) },
	"endsWith":   func(_ *Evaluation, s string, args []string) any { return strings.HasSuffix(s, args[0]) },
	"replace": func(e *Evaluation, s string, args []string) any {
		return e.made(replaceAll(s, args[0], args[1]))
	},
	"toLowerCase": func(e *Evaluation, s string, _ []string) any { return e.changeCase(s, toLower) },
	"toUpperCase": func(e *Evaluation, s string, _ []string) any { return e.changeCase(s, toUpper) },
}

// made returns a string that an expression has made, and charges for it. ok is false
// if it would be too long.
func (e *Evaluation) made(s string, ok bool) any {
	if !ok {
		return e.fail(lang.String, msgTooLong)
	}
	if !e.charge(len(s)) {
		return nil
	}
	return s
}

// changeCase bounds the string before and after: some characters become three.
func (e *Evaluation) changeCase(s string, change func(string) string) any {
	if len(s) > maxString {
		return e.fail(lang.String, msgTooLong)
	}
	s = change(s)
	return e.made(s, len(s) <= maxString)
}
