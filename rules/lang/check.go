package lang

import (
	"slices"
	"strings"
)

// Check checks the types of a rule, which must be a boolean, and annotates the
// tree. If it fails, the tree is not to be used.
func Check(x Expr, s Scope) *Error {
	if err := CheckAny(x, s); err != nil {
		return err
	}
	if x.Type() != Boolean {
		return at(x, msgNotBoolean)
	}
	return nil
}

// CheckAny checks the types of an expression that may have any type, and
// annotates the tree. If it fails, the tree is not to be used.
func CheckAny(x Expr, s Scope) *Error {
	c := checker{scope: s}
	err := recovered(func() { c.expr(x) })
	if err != nil {
		suggest(x, []*Error{err})
	}
	return err
}

// recovered returns the mistake that f panics with, nil if there is none.
func recovered(f func()) (err *Error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			err = e
		default:
			panic(e)
		}
	}()
	f()
	return nil
}

// A checker finds the types of a tree, operands first (rules §5.3). It
// panics with *Error.
//
// It writes types into the tree, so a tree is checked once, by one goroutine,
// before it is shared.
type checker struct {
	scope   Scope
	checked map[Expr]bool // what was checked before; true: it is right and has its type
}

// at makes an error at the beginning of x.
func at(x Expr, format string, args ...any) *Error {
	from, _ := x.Span()
	return errorf(from, format, args...)
}

// expr finds the type of x and notes it in x. Parents rely on the types of
// their operands, so operands come first.
func (c *checker) expr(x Expr) Type {
	if c.checked[x] {
		return x.Type()
	}
	switch x := x.(type) {
	case *Literal:
		x.typ = literalType(x.Value)
	case *Regex:
		x.typ = Regexp
	case *Array:
		panic(at(x, msgArray)) // methods with a list look into it themselves
	case *Variable:
		x.typ = c.variable(x)
	case *Unary:
		x.typ = c.unary(x)
	case *Binary:
		x.typ = c.binary(x)
	case *Cond:
		x.typ = c.cond(x)
	case *Member:
		x.typ = c.member(x)
	case *Index:
		x.typ = c.index(x)
	case *Call:
		x.typ = c.call(x)
	}
	return x.Type()
}

func literalType(v any) Type {
	switch v.(type) {
	case bool:
		return Boolean
	case float64:
		return Number
	case string:
		return String
	}
	return Null
}

func (c *checker) variable(x *Variable) Type {
	switch x.Name {
	case "auth":
		return Any
	case "now":
		return Number
	case "root", "data":
		return Snapshot
	case "query":
		return Query
	case "newData":
		if !c.scope.NewData {
			panic(at(x, msgNewData))
		}
		return Snapshot
	case "newRoot":
		if c.scope.NewRoot && c.scope.NewData {
			return Snapshot
		}
	}
	if slices.Contains(c.scope.Captures, x.Name) {
		return String
	}
	panic(c.unknownVariable(x))
}

// variables returns the names of the variables in scope.
func (c *checker) variables() []string {
	list := append([]string{"auth", "now", "root", "data", "query"}, c.scope.Captures...)
	if c.scope.NewData {
		list = append(list, "newData")
		if c.scope.NewRoot {
			list = append(list, "newRoot")
		}
	}
	return list
}

func (c *checker) unary(x *Unary) Type {
	t := c.expr(x.X)
	switch {
	case x.Op == Not && t != Boolean:
		panic(at(x.X, msgNot))
	case x.Op == Neg && t&Number == 0:
		panic(at(x.X, msgNeg))
	case x.Op == Not:
		return Boolean
	}
	return Number
}

func (c *checker) cond(x *Cond) Type {
	if c.expr(x.Test) != Boolean {
		panic(at(x.Test, msgTest))
	}
	return c.expr(x.Then) | c.expr(x.Else)
}

// binary finds the type of a binary operation. Both operands are checked before
// their types are compared with what the operator wants.
func (c *checker) binary(x *Binary) Type {
	left, right := c.expr(x.X), c.expr(x.Y)
	if !operand(x.Op, left) {
		panic(operandError(x.Op, x.X, "left"))
	}
	if !operand(x.Op, right) {
		panic(operandError(x.Op, x.Y, "right"))
	}
	switch x.Op {
	case Eq, Ne:
		c.orderings(x)
	case Sub, Mul, Div, Rem:
		return Number
	case Add:
		return sum(left, right)
	}
	return Boolean
}

// orderings refuses to compare an ordering with what is not known before the
// request.
func (c *checker) orderings(x *Binary) {
	if c.scope.Accepted {
		return
	}
	if mayBeOrdering(x.X) && !comparesOrdering(x.Y) {
		panic(at(x.Y, msgOrdering, x.Op, "right"))
	}
	if mayBeOrdering(x.Y) && !comparesOrdering(x.X) && !mayBeOrdering(x.X) {
		panic(at(x.X, msgOrdering, x.Op, "left"))
	}
}

// operand reports whether op may have an operand of type t.
func operand(op Op, t Type) bool {
	switch op {
	case Or, And:
		return t == Boolean
	case Eq, Ne:
		return t&values != 0
	case Lt, Le, Gt, Ge, Add:
		return t&ordered != 0
	}
	return t&Number != 0
}

// operandError says what is wrong with x, the operand of op on a side.
func operandError(op Op, x Expr, side string) *Error {
	switch op {
	case Or, And:
		return at(x, msgLogical, strings.ToUpper(side[:1])+side[1:], op)
	case Eq, Ne:
		if op == Eq && side == "left" {
			return at(x, msgEqLeft)
		}
		return at(x, msgEquality, op, side)
	case Lt, Le, Gt, Ge:
		return at(x, msgOrder, op, side)
	case Add:
		return at(x, msgAdd, side)
	}
	return at(x, msgArithmetic, op, side)
}

// sum is the type of an addition: what has a string becomes a string.
func sum(left, right Type) Type {
	switch {
	case left == String, right == String:
		return String
	case (left|right)&String == 0:
		return Number
	}
	return Number | String
}
