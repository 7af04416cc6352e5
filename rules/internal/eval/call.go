package eval

import (
	"strconv"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// A call is a node under construction that calls a function for the expression x.
type call struct {
	*lowering
	x    lang.Expr
	args []ast.Node
}

// call begins the call for x. Operands add arguments to it; node ends it.
func (l *lowering) call(x lang.Expr) *call { return &call{lowering: l, x: x} }

// mayFuse reports whether the call may compute y itself. A noting program computes
// each part of an expression on its own.
func (c *call) mayFuse(y lang.Expr) bool { return !c.noting || y == c.x }

// node returns the call of run with the arguments.
func (c *call) node(run func(e *Evaluation, args []any) any) ast.Node {
	name := strconv.Itoa(len(c.functions))
	c.functions[name] = &builtin.Function{Name: name, Func: func(args ...any) (any, error) {
		return run(args[0].(*Evaluation), args[1:]), nil
	}}
	n := &ast.CallNode{
		Callee:    &ast.IdentifierNode{Value: name},
		Arguments: append([]ast.Node{&ast.IdentifierNode{Value: "$env"}}, c.args...),
	}
	if c.x.Type() == lang.Boolean {
		return typed(n)
	}
	return n
}

// argument makes an argument of x.
func (c *call) argument(x lang.Expr) operand {
	c.args = append(c.args, c.lower(x))
	return operand{from: fromArgument, index: len(c.args) - 1}
}

// operand describes x, which becomes an argument unless it is simple.
func (c *call) operand(x lang.Expr) operand {
	if o, ok := c.simple(x); ok && (!c.noting || !IsTelling(x)) {
		return o
	}
	return c.argument(x)
}

// simple describes a literal, a capture, now, auth or a claim.
func (l *lowering) simple(x lang.Expr) (operand, bool) {
	switch x := x.(type) {
	case *lang.Literal:
		return operand{value: x.Value}, true
	case *lang.Variable:
		if depth, ok := l.depths[x.Name]; ok {
			return operand{from: fromCapture, index: depth}, true
		}
		switch x.Name {
		case "auth":
			return operand{from: fromClaim}, true
		case "now":
			return operand{from: fromClock}, true
		}
	case *lang.Member:
		o, ok := l.simple(x.X)
		if ok && o.from == fromClaim {
			o.claim = append(o.claim[:len(o.claim):len(o.claim)], x.Name)
			return o, true
		}
	}
	return operand{}, false
}

// text describes x, which must be a string. A sum that is certainly a string is
// taken apart.
func (c *call) text(x lang.Expr) text {
	if b, ok := x.(*lang.Binary); ok && b.Op == lang.Add && b.Type() == lang.String && !c.noting {
		return text{parts: c.parts(nil, b), sum: true}
	}
	return text{parts: []operand{c.operand(x)}}
}

// parts appends what a sum that is a string puts together.
func (c *call) parts(list []operand, x lang.Expr) []operand {
	if b, ok := x.(*lang.Binary); ok && b.Op == lang.Add && b.Type() == lang.String {
		return c.parts(c.parts(list, b.X), b.Y)
	}
	return append(list, c.operand(x))
}
