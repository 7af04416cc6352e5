package ruleslint

import (
	"github.com/dogwooddb/dogwood/rules/lang"
)

// constant returns the value of a boolean expression if it is the same for every
// request. What fails whenever it is evaluated counts as false, as rules do.
//
// It must never be wrong, since other warnings rest on it (mayHold, alwaysHolds). So it
// knows little: literals, operators on them, and contradictions that can be seen without
// any data.
//
// A value that is known is that of a rule as a whole, where a failure denies. Inside an
// expression a failure is not false: !x fails with x, which is why alwaysFails is asked before
// a value is negated or decides a ternary.
func constant(x lang.Expr) (value, known bool) {
	switch x := x.(type) {
	case *lang.Literal:
		value, known = x.Value.(bool)
		return value, known
	case *lang.Unary:
		if v, ok := constant(x.X); ok && x.Op == lang.Not && !alwaysFails(x.X) {
			return !v, true
		}
	case *lang.Cond:
		return constantCond(x)
	case *lang.Binary:
		return constantBinary(x)
	}
	return false, false
}

func constantCond(x *lang.Cond) (value, known bool) {
	if test, ok := constant(x.Test); ok && !alwaysFails(x.Test) {
		if test {
			return constant(x.Then)
		}
		return constant(x.Else)
	}
	a, ok1 := constant(x.Then)
	b, ok2 := constant(x.Else)
	return a, ok1 && ok2 && !a && !b // the test may fail, so two trues prove nothing
}

func constantBinary(x *lang.Binary) (value, known bool) {
	if alwaysFails(x) {
		return false, true
	}
	switch x.Op {
	case lang.And:
		a, ok1 := constant(x.X)
		b, ok2 := constant(x.Y)
		if ok1 && !a || ok2 && !b || contradicts(x) {
			return false, true
		}
		return true, ok1 && ok2
	case lang.Or:
		a, ok1 := constant(x.X)
		b, ok2 := constant(x.Y)
		if ok1 && a {
			return true, true
		}
		return false, ok1 && ok2 && !a && !b
	case lang.Eq, lang.Ne:
		if a, ok := x.X.(*lang.Literal); ok {
			if b, ok := x.Y.(*lang.Literal); ok {
				return (a.Value == b.Value) == (x.Op == lang.Eq), true
			}
		}
		if disjoint(x) && cannotFail(x.X) && cannotFail(x.Y) {
			return x.Op == lang.Ne, true
		}
		return false, disjoint(x) && x.Op == lang.Eq
	}
	return false, false
}

// disjoint reports whether the sides of an equality never have the same type.
func disjoint(x *lang.Binary) bool {
	return (x.Op == lang.Eq || x.Op == lang.Ne) && x.X.Type()&x.Y.Type() == 0
}

// alwaysFails reports whether evaluating x is an error for every request: what is
// evaluated first in it orders a text against a number.
func alwaysFails(x lang.Expr) bool {
	b, ok := x.(*lang.Binary)
	switch {
	case !ok:
		return false
	case b.Op == lang.And || b.Op == lang.Or:
		return alwaysFails(b.X)
	case b.Op < lang.Lt || b.Op > lang.Ge:
		return false
	}
	const ordered = lang.Number | lang.String
	a, c := b.X.Type()&ordered, b.Y.Type()&ordered
	return a&c == 0
}

// cannotFail reports whether evaluating x is never an error. The members that it knows are
// claims, whose type is lang.Any: a member of an absent claim is null (rules §2). Everything
// else, such as a method of a value that may be null, counts as able to fail.
func cannotFail(x lang.Expr) bool {
	switch x := x.(type) {
	case *lang.Literal, *lang.Variable:
		return true
	case *lang.Member:
		return x.X.Type()&^lang.Any == 0 && x.Type() == lang.Any && cannotFail(x.X)
	}
	return false
}

// contradicts reports whether a chain of && asks for two things that exclude each
// other: x and !x, or one value equal to two literals.
func contradicts(x *lang.Binary) bool {
	parts := operands(x, lang.And, nil)
	if len(parts) > 64 {
		return false // pairs are compared, each as trees: this bounds the time
	}
	for i, a := range parts {
		for _, b := range parts[i+1:] {
			if opposite(a, b) || opposite(b, a) || twoValues(a, b) {
				return true
			}
		}
	}
	return false
}

// opposite reports whether a is the negation of b.
func opposite(a, b lang.Expr) bool {
	if n, ok := a.(*lang.Unary); ok && n.Op == lang.Not {
		return lang.Equal(n.X, b)
	}
	x, ok1 := a.(*lang.Binary)
	y, ok2 := b.(*lang.Binary)
	return ok1 && ok2 && x.Op == lang.Eq && y.Op == lang.Ne && lang.Equal(x.X, y.X) && lang.Equal(x.Y, y.Y)
}

// twoValues reports whether a and b want one expression to equal different
// literals.
func twoValues(a, b lang.Expr) bool {
	x, v := equalsLiteral(a)
	y, w := equalsLiteral(b)
	return x != nil && y != nil && v.Value != w.Value && lang.Equal(x, y)
}

func equalsLiteral(x lang.Expr) (lang.Expr, *lang.Literal) {
	b, ok := x.(*lang.Binary)
	if !ok || b.Op != lang.Eq {
		return nil, nil
	}
	if lit, ok := b.Y.(*lang.Literal); ok {
		return b.X, lit
	}
	if lit, ok := b.X.(*lang.Literal); ok {
		return b.Y, lit
	}
	return nil, nil
}
