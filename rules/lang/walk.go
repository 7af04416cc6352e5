package lang

import "slices"

// Walk calls f for x and then, if f returns true, walks the operands of x in the
// order of the text.
func Walk(x Expr, f func(Expr) bool) {
	if !f(x) {
		return
	}
	switch x := x.(type) {
	case *Array:
		walkAll(x.Items, f)
	case *Unary:
		Walk(x.X, f)
	case *Binary:
		Walk(x.X, f)
		Walk(x.Y, f)
	case *Cond:
		Walk(x.Test, f)
		Walk(x.Then, f)
		Walk(x.Else, f)
	case *Member:
		Walk(x.X, f)
	case *Index:
		Walk(x.X, f)
		Walk(x.Key, f)
	case *Call:
		Walk(x.Fun, f)
		walkAll(x.Args, f)
	}
}

func walkAll(list []Expr, f func(Expr) bool) {
	for _, x := range list {
		Walk(x, f)
	}
}

// Equal reports whether two trees have the same structure and values. Spans and
// types don't count.
func Equal(a, b Expr) bool {
	switch a := a.(type) {
	case *Literal:
		b, ok := b.(*Literal)
		return ok && a.Value == b.Value
	case *Regex:
		b, ok := b.(*Regex)
		return ok && a.Pattern == b.Pattern && a.IgnoreCase == b.IgnoreCase
	case *Array:
		b, ok := b.(*Array)
		return ok && slices.EqualFunc(a.Items, b.Items, Equal)
	case *Variable:
		b, ok := b.(*Variable)
		return ok && a.Name == b.Name
	case *Unary:
		b, ok := b.(*Unary)
		return ok && a.Op == b.Op && Equal(a.X, b.X)
	case *Binary:
		b, ok := b.(*Binary)
		return ok && a.Op == b.Op && Equal(a.X, b.X) && Equal(a.Y, b.Y)
	case *Cond:
		b, ok := b.(*Cond)
		return ok && Equal(a.Test, b.Test) && Equal(a.Then, b.Then) && Equal(a.Else, b.Else)
	case *Member:
		b, ok := b.(*Member)
		return ok && a.Name == b.Name && a.Bracket == b.Bracket && Equal(a.X, b.X)
	case *Index:
		b, ok := b.(*Index)
		return ok && Equal(a.X, b.X) && Equal(a.Key, b.Key)
	case *Call:
		b, ok := b.(*Call)
		return ok && Equal(a.Fun, b.Fun) && slices.EqualFunc(a.Args, b.Args, Equal)
	}
	return false
}
