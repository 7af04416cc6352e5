package eval

import (
	"fmt"
	"reflect"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// Compile makes a program of a checked expression. depths are those of the
// captures on the rule's path. Only the logical operators become instructions of
// the machine, which jump over what need not be evaluated; everything else becomes
// calls of functions, few and large ones. The parser and the checker of the
// machine's own language take no part, so nothing of that language is reachable
// from rules.
func Compile(x lang.Expr, depths map[string]int) (*Program, error) {
	return compile(x, lowering{depths: depths})
}

// CompileNoting makes a program for Evaluation.Explain. It is what Compile makes,
// but each part of the expression is computed on its own and passed to the noter.
//
// It replaced a second evaluator that walked the expression: 230 lines that had to
// agree with the functions in every detail. Both programs now come from one lowering
// and call the same functions. They are still two, because the deciding one leaves
// out intermediate values that an explanation shows.
func CompileNoting(x lang.Expr, depths map[string]int) (*Program, error) {
	return compile(x, lowering{depths: depths, noting: true})
}

// compile gives the machine the tree that its own parser would have made.
func compile(x lang.Expr, l lowering) (*Program, error) {
	l.functions = make(map[string]*builtin.Function)
	n := l.lower(x)
	config := &conf.Config{ShortCircuit: true, Optimize: true, Functions: l.functions}
	program, err := compiler.Compile(&parser.Tree{Node: n}, config)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", x, err)
	}
	return (*Program)(program), nil
}

// A lowering translates an expression into nodes of the virtual machine.
//
// A function of a program is a closure over its operands. The machine could pass
// constants as arguments instead, but that takes a quarter longer
// (BenchmarkExpressions).
type lowering struct {
	depths    map[string]int // of the captures on the rule's path
	noting    bool
	functions map[string]*builtin.Function // by a number
}

// booleanType is what the machine must know of a node to leave out its checks.
var booleanType = reflect.TypeFor[bool]()

// lower returns the node that computes x.
func (l *lowering) lower(x lang.Expr) ast.Node {
	n := l.compute(x)
	if !l.noting || !IsTelling(x) {
		return n
	}
	c := l.call(x)
	c.args = append(c.args, n)
	return c.node(func(e *Evaluation, args []any) any {
		e.note(x, args[0])
		return args[0]
	})
}

// compute returns the node for x itself, without the note of its value.
func (l *lowering) compute(x lang.Expr) ast.Node {
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
		c := l.call(x)
		of := c.operand(x.X)
		return c.node(func(e *Evaluation, args []any) any { return e.negate(of.get(e, args)) })
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
		c := l.call(x)
		of, key := c.operand(x.X), c.operand(x.Key)
		return c.node(func(e *Evaluation, args []any) any { return e.index(of.get(e, args), key.get(e, args)) })
	case *lang.Call:
		return l.method(x)
	}
	return &ast.ConstantNode{Value: opaque{"a " + x.Type().String()}}
}

// typed tells the compiler that a node is a boolean, so that it makes no
// instructions to check that at run time.
func typed(n ast.Node) ast.Node {
	n.SetType(booleanType)
	return n
}

// logical are the operators that the machine carries out: they may leave out their
// second operand, which a function cannot.
var logical = map[lang.Op]string{lang.Or: "||", lang.And: "&&"}

// binary lowers an operator. Sums that are certainly strings become one function,
// however many terms they have.
func (l *lowering) binary(x *lang.Binary) ast.Node {
	if op, ok := logical[x.Op]; ok {
		return typed(&ast.BinaryNode{Operator: op, Left: l.lower(x.X), Right: l.lower(x.Y)})
	}
	c := l.call(x)
	switch {
	case x.Op == lang.Add && x.Type() == lang.String && !l.noting:
		sum := c.text(x)
		return c.node(func(e *Evaluation, args []any) any {
			if s, ok := sum.get(e, args, msgOperand); ok {
				return s
			}
			return nil
		})
	case x.Op == lang.Eq || x.Op == lang.Ne:
		return c.equality(x)
	}
	left, right := c.operand(x.X), c.operand(x.Y)
	return c.node(func(e *Evaluation, args []any) any {
		return e.binary(x.Op, left.get(e, args), right.get(e, args))
	})
}

// equality lowers == and !=. Three forms need less than the values of both sides: a
// comparison of auth with null, one of a snapshot's value with null, and one with a
// capture, which would have to be put into an interface.
func (c *call) equality(x *lang.Binary) ast.Node {
	want := x.Op == lang.Eq
	if isAuth(x.X) && isNull(x.Y) || isNull(x.X) && isAuth(x.Y) { // only whether there is a caller
		return c.node(func(e *Evaluation, _ []any) any { return e.signedIn() != want })
	}
	if n := c.nullTest(x); n != nil {
		return n
	}
	left, right := c.operand(x.X), c.operand(x.Y)
	if left.from == fromCapture {
		left, right = right, left
	}
	if right.from != fromCapture {
		return c.node(func(e *Evaluation, args []any) any {
			return e.equal(left.get(e, args), right.get(e, args)) == want
		})
	}
	return c.node(func(e *Evaluation, args []any) any {
		s, _, ok := left.str(e, args)
		return (ok && e.same(s, e.capture(right.index))) == want
	})
}

// nullTest lowers a comparison of a snapshot's value with null to the question
// whether it exists, which reads no value. It returns nil for any other x.
func (l *lowering) nullTest(x *lang.Binary) ast.Node {
	of := x.X
	if isNull(of) {
		of = x.Y
	} else if !isNull(x.Y) {
		return nil
	}
	c, ok := of.(*lang.Call)
	if !ok || l.noting {
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

// isAuth reports whether x is the variable auth.
func isAuth(x lang.Expr) bool {
	v, ok := x.(*lang.Variable)
	return ok && v.Name == "auth"
}

// isNull reports whether x is the literal null.
func isNull(x lang.Expr) bool {
	v, ok := x.(*lang.Literal)
	return ok && v.Value == nil
}

// variable lowers a variable as such, not as an operand of something.
func (l *lowering) variable(x *lang.Variable) ast.Node {
	switch x.Type() {
	case lang.Snapshot:
		return l.chain(x, x, askNothing, nil, false)
	case lang.Query:
		return &ast.ConstantNode{Value: opaque{"query"}}
	}
	return l.load(x)
}

// load lowers an expression that is simple.
func (l *lowering) load(x lang.Expr) ast.Node {
	o, _ := l.simple(x)
	return l.call(x).node(func(e *Evaluation, args []any) any { return o.get(e, args) })
}

// member lowers a property: of the query, of a claim, or the length of a string.
func (l *lowering) member(x *lang.Member) ast.Node {
	c := l.call(x)
	if v, ok := x.X.(*lang.Variable); ok && v.Type() == lang.Query {
		return c.node(func(e *Evaluation, _ []any) any { return e.queryMember(x.Name) })
	}
	if _, ok := l.simple(x); ok && !l.noting {
		return l.load(x)
	}
	of, from, to := c.operand(x.X), x.X.Type(), x.Type()
	return c.node(func(e *Evaluation, args []any) any { return e.memberOf(of.get(e, args), x.Name, from, to) })
}

// method lowers the call of a method of snapshots or strings.
func (l *lowering) method(x *lang.Call) ast.Node {
	fun := x.Fun.(*lang.Member)
	if fun.X.Type() == lang.Snapshot {
		return l.snapshotMethod(x, fun)
	}
	c := l.call(x)
	of := c.operand(fun.X)
	if f := textMethods[fun.Name]; f != nil {
		return c.extension(f, of, x)
	}
	if fun.Name == "matches" {
		re := x.Args[0].(*lang.Regex).Machine
		return c.node(func(e *Evaluation, args []any) any {
			s, v, ok := of.str(e, args)
			if !ok {
				return e.reject(lang.Boolean, msgNoString, v)
			}
			return e.matches(re, s)
		})
	}
	m := &method{x: of, call: stringMethods[fun.Name], result: x.Type()}
	for _, arg := range x.Args {
		m.args = append(m.args, c.operand(arg))
	}
	return c.node(m.run)
}

// method is a method of strings other than matches.
type method struct {
	x      operand
	args   []operand
	call   stringMethod
	result lang.Type
}

// run calls the method. The receiver is checked before the arguments.
func (f *method) run(e *Evaluation, args []any) any {
	s, v, ok := f.x.str(e, args)
	if !ok {
		return e.reject(f.result, msgNoString, v)
	}
	var strs [2]string
	for i := range f.args {
		if strs[i], v, ok = f.args[i].str(e, args); !ok {
			return e.reject(f.result, msgArgument, v)
		}
	}
	return e.callMethod(f.call, f.result, s, strs[:len(f.args)])
}

// snapshotMethod lowers a method of snapshots to a chain. A list of children is
// part of the chain, so it ends at the first that is missing.
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
	c := l.call(x)
	ch := &chain{what: what, list: list, typ: x.Type()}
	c.follow(ch, of)
	for i := range ch.steps {
		ch.steps[i].fixed, _ = fixedPath(ch.steps[i].path)
	}
	for _, child := range children {
		ch.children = append(ch.children, c.text(child))
	}
	return c.node(ch.run)
}

// follow appends the steps that lead to the snapshot x.
func (c *call) follow(ch *chain, x lang.Expr) {
	switch x := x.(type) {
	case *lang.Variable:
		if c.mayFuse(x) {
			ch.variable = x.Name
			return
		}
	case *lang.Call:
		if c.mayFuse(x) {
			c.step(ch, x)
			return
		}
	}
	c.argument(x) // a ternary, or noted: it is evaluated first, as argument 0
}

// step appends a call of child or parent.
func (c *call) step(ch *chain, x *lang.Call) {
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
}
