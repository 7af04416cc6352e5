package lang

import (
	"reflect"
	"slices"
)

// Walk calls f for x and then, if f returns true, walks the operands of x in the
// order of the text.
func Walk(x Expr, f func(Expr) bool) {
	if !f(x) {
		return
	}
	for _, y := range operands(x) {
		Walk(y, f)
	}
}

// operands returns the expressions that x is made of, in the order of the text. The
// caller must not modify the result, which may be a part of the tree.
func operands(x Expr) []Expr {
	switch x := x.(type) {
	case *Array:
		return x.Items
	case *Unary:
		return []Expr{x.X}
	case *Binary:
		return []Expr{x.X, x.Y}
	case *Cond:
		return []Expr{x.Test, x.Then, x.Else}
	case *Member:
		return []Expr{x.X}
	case *Index:
		return []Expr{x.X, x.Key}
	case *Call:
		return slices.Concat([]Expr{x.Fun}, x.Args)
	}
	return nil
}

// Equal reports whether two trees have the same structure and values. Spans and
// types don't count.
func Equal(a, b Expr) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && own(a) == own(b) && slices.EqualFunc(operands(a), operands(b), Equal)
}

// own returns what tells x from other nodes of its kind with the same operands. It is
// comparable.
func own(x Expr) any {
	switch x := x.(type) {
	case *Literal:
		return x.Value
	case *Regex:
		return [2]any{x.Pattern, x.IgnoreCase}
	case *Variable:
		return x.Name
	case *Unary:
		return x.Op
	case *Binary:
		return x.Op
	case *Member:
		return [2]any{x.Name, x.Bracket}
	}
	return nil
}
