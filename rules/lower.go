package rules

import (
	"fmt"
	"reflect"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// compileProgram makes a program of a checked expression. Only the logical
// operators become instructions of the virtual machine, which jump over what need
// not be evaluated; everything else becomes calls of functions, few and large
// ones. Neither the parser nor the checker of the machine's own language takes
// part, so nothing of that language is reachable from rules.
func compileProgram(x lang.Expr, depths map[string]int) (*vm.Program, error) {
	l := lowering{depths: depths}
	config := &conf.Config{ShortCircuit: true, Optimize: true, Functions: functions}
	program, err := compiler.Compile(&parser.Tree{Node: l.lower(x)}, config)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", x, err)
	}
	return program, nil
}

// A lowering makes nodes of the virtual machine of an expression's.
type lowering struct {
	depths map[string]int // of the captures on the rule's path
}

var booleanType = reflect.TypeFor[bool]()

// lower returns the node that computes x.
func (l *lowering) lower(x lang.Expr) ast.Node {
	switch x := x.(type) {
	case *lang.Literal:
		if b, ok := x.Value.(bool); ok {
			return typed(&ast.BoolNode{Value: b})
		}
		return &ast.ConstantNode{Value: x.Value}
	case *lang.Unary:
		if x.Op == lang.Not {
			return typed(&ast.UnaryNode{Operator: "!", Node: l.lower(x.X)})
		}
		c := l.call(fnNegate)
		return c.node(&negation{c.operand(x.X)}, x)
	case *lang.Binary:
		return l.binary(x)
	case *lang.Cond:
		n := &ast.ConditionalNode{Cond: l.lower(x.Test), Exp1: l.lower(x.Then), Exp2: l.lower(x.Else)}
		if x.Type() == lang.Boolean {
			return typed(n)
		}
		return n
	case *lang.Variable:
		return l.variable(x)
	case *lang.Member:
		return l.member(x)
	case *lang.Index:
		c := l.call(fnIndex)
		return c.node(&indexing{c.operand(x.X), c.operand(x.Key)}, x)
	case *lang.Call:
		return l.method(x)
	}
	return &ast.ConstantNode{Value: opaque{"a " + x.Type().String()}}
}

// typed tells the compiler that a node is a boolean, so that it makes no
// instructions to find out.
func typed(n ast.Node) ast.Node {
	n.SetType(booleanType)
	return n
}

var logical = map[lang.Op]string{lang.Or: "||", lang.And: "&&"}

func (l *lowering) binary(x *lang.Binary) ast.Node {
	if op, ok := logical[x.Op]; ok {
		return typed(&ast.BinaryNode{Operator: op, Left: l.lower(x.X), Right: l.lower(x.Y)})
	}
	switch {
	case x.Op == lang.Add && x.Type() == lang.String:
		c := l.call(fnJoin)
		return c.node(&joint{c.text(x)}, x)
	case x.Op != lang.Eq && x.Op != lang.Ne:
		c := l.call(fnBinary)
		return c.node(&binary{x.Op, c.operand(x.X), c.operand(x.Y)}, x)
	case comparesAuthWithNull(x):
		return l.call(fnSignedIn).node(&signedIn{x.Op == lang.Ne}, x)
	}
	if n := l.nullTest(x); n != nil {
		return n
	}
	c := l.call(fnEqual)
	return c.node(&equality{c.operand(x.X), c.operand(x.Y), x.Op == lang.Eq}, x)
}

// comparesAuthWithNull reports whether x asks only whether there is a caller.
func comparesAuthWithNull(x *lang.Binary) bool {
	return (x.Op == lang.Eq || x.Op == lang.Ne) && (isAuth(x.X) && isNull(x.Y) || isNull(x.X) && isAuth(x.Y))
}

// nullTest lowers a comparison of a snapshot's value with null to the question
// whether it exists, which reads nothing. It returns nil if x is no such one.
func (l *lowering) nullTest(x *lang.Binary) ast.Node {
	of := x.X
	if isNull(of) {
		of = x.Y
	} else if !isNull(x.Y) {
		return nil
	}
	c, ok := of.(*lang.Call)
	if !ok {
		return nil
	}
	fun := c.Fun.(*lang.Member)
	if fun.X.Type() != lang.Snapshot || fun.Name != "val" {
		return nil
	}
	n := l.chain(x, fun.X, askExists, nil, false)
	if x.Op == lang.Eq {
		return typed(&ast.UnaryNode{Operator: "!", Node: n})
	}
	return n
}

func isAuth(x lang.Expr) bool {
	v, ok := x.(*lang.Variable)
	return ok && v.Name == "auth"
}

func isNull(x lang.Expr) bool {
	v, ok := x.(*lang.Literal)
	return ok && v.Value == nil
}

func (l *lowering) variable(x *lang.Variable) ast.Node {
	c := l.call(fnLoad)
	switch x.Type() {
	case lang.Snapshot:
		return l.chain(x, x, askNothing, nil, false)
	case lang.Query:
		return &ast.ConstantNode{Value: opaque{"query"}}
	}
	return c.node(&load{c.operand(x)}, x)
}

func (l *lowering) member(x *lang.Member) ast.Node {
	if v, ok := x.X.(*lang.Variable); ok && v.Type() == lang.Query {
		return l.call(fnQuery).node(&queryMember{x.Name}, x)
	}
	c := l.call(fnMember)
	if o, ok := l.simple(x); ok {
		c.name = fnLoad
		return c.node(&load{o}, x)
	}
	return c.node(&membership{c.operand(x.X), x.Name, x.X.Type(), x.Type()}, x)
}

func (l *lowering) method(x *lang.Call) ast.Node {
	fun := x.Fun.(*lang.Member)
	if fun.X.Type() == lang.Snapshot {
		return l.snapshotMethod(x, fun)
	}
	if fun.Name == "matches" {
		c := l.call(fnMatch)
		return c.node(&match{c.operand(fun.X), x.Args[0].(*lang.Regex).Machine}, x)
	}
	c := l.call(fnMethod)
	m := &method{x: c.operand(fun.X), call: stringMethods[fun.Name], result: x.Type()}
	for _, arg := range x.Args {
		m.args = append(m.args, c.operand(arg))
	}
	return c.node(m, x)
}

func (l *lowering) snapshotMethod(x *lang.Call, fun *lang.Member) ast.Node {
	switch {
	case fun.Name == "child" || fun.Name == "parent":
		return l.chain(x, x, askNothing, nil, false)
	case fun.Name == "hasChild":
		return l.chain(x, fun.X, askNothing, x.Args, true)
	case fun.Name == "hasChildren" && len(x.Args) == 1:
		return l.chain(x, fun.X, askNothing, x.Args[0].(*lang.Array).Items, true)
	}
	return l.chain(x, fun.X, questions[fun.Name], nil, false)
}

// chain lowers an expression that asks something of the snapshot of.
func (l *lowering) chain(x, of lang.Expr, what question, children []lang.Expr, list bool) ast.Node {
	c := l.call(fnChain)
	ch := &chain{what: what, list: list, typ: x.Type()}
	c.follow(ch, of)
	for i := range ch.steps {
		ch.steps[i].fixed, _ = fixedPath(ch.steps[i].path)
	}
	for _, child := range children {
		ch.children = append(ch.children, c.text(child))
	}
	return c.node(ch, x)
}

// follow appends the steps that lead to the snapshot x.
func (c *call) follow(ch *chain, x lang.Expr) {
	switch x := x.(type) {
	case *lang.Variable:
		ch.variable = x.Name
		return
	case *lang.Call:
		fun := x.Fun.(*lang.Member)
		c.follow(ch, fun.X)
		if fun.Name == "parent" {
			ch.steps = append(ch.steps, step{up: true})
			return
		}
		last := len(ch.steps) - 1
		if last < 0 || ch.steps[last].up {
			ch.steps = append(ch.steps, step{})
			last++
		}
		ch.steps[last].path = append(ch.steps[last].path, c.text(x.Args[0]))
		return
	}
	c.argument(x) // a ternary: it is evaluated first, as argument 0
}

// A call is a node under construction that calls a function.
type call struct {
	*lowering
	name string
	args []ast.Node
}

func (l *lowering) call(name string) *call { return &call{lowering: l, name: name} }

// node returns the call with its constant.
func (c *call) node(constant any, x lang.Expr) ast.Node {
	args := append([]ast.Node{
		&ast.IdentifierNode{Value: "$env"},
		&ast.ConstantNode{Value: constant},
	}, c.args...)
	n := &ast.CallNode{Callee: &ast.IdentifierNode{Value: c.name}, Arguments: args}
	if x.Type() == lang.Boolean {
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
	if o, ok := c.simple(x); ok {
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
	if b, ok := x.(*lang.Binary); ok && b.Op == lang.Add && b.Type() == lang.String {
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
