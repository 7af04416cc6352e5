package rules

import (
	"github.com/expr-lang/expr/builtin"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// functions are those that programs call. The arguments of each are the
// evaluation, a constant that says what to do, and values.
var functions = map[string]*builtin.Function{}

// The functions of programs, by the type of their constant.
var (
	fnLoad     = register("load", (*load).run)
	fnSignedIn = register("signedIn", (*signedIn).run)
	fnEqual    = register("equal", (*equality).run)
	fnBinary   = register("binary", (*binary).run)
	fnNegate   = register("negate", (*negation).run)
	fnJoin     = register("join", (*joint).run)
	fnChain    = register("chain", (*chain).run)
	fnMember   = register("member", (*membership).run)
	fnIndex    = register("index", (*indexing).run)
	fnQuery    = register("query", (*queryMember).run)
	fnMatch    = register("match", (*match).run)
	fnMethod   = register("method", (*method).run)
)

// register makes a function of the method of a constant.
func register[C any](name string, run func(C, *evaluation, []any) any) string {
	functions[name] = &builtin.Function{Name: name, Func: func(args ...any) (any, error) {
		return run(args[1].(C), args[0].(*evaluation), args[2:]), nil
	}}
	return name
}

// load gets an operand.
type load struct{ x operand }

func (f *load) run(e *evaluation, args []any) any { return f.x.get(e, args) }

// signedIn compares auth with null.
type signedIn struct{ want bool }

func (f *signedIn) run(e *evaluation, _ []any) any { return e.signedIn() == f.want }

// equality is == or !=.
type equality struct {
	x, y operand
	want bool
}

func (f *equality) run(e *evaluation, args []any) any {
	x, y := &f.x, &f.y
	if x.from == fromCapture {
		x, y = y, x
	}
	if y.from != fromCapture {
		return e.equal(x.get(e, args), y.get(e, args)) == f.want
	}
	s, _, ok := x.str(e, args)
	return (ok && e.same(s, e.capture(y.index))) == f.want
}

// binary is any other operator of two operands that are always evaluated.
type binary struct {
	op   lang.Op
	x, y operand
}

func (f *binary) run(e *evaluation, args []any) any {
	return e.binary(f.op, f.x.get(e, args), f.y.get(e, args))
}

type negation struct{ x operand }

func (f *negation) run(e *evaluation, args []any) any { return e.negate(f.x.get(e, args)) }

// joint is a sum that is certainly a string.
type joint struct{ text text }

func (f *joint) run(e *evaluation, args []any) any {
	s, ok := f.text.get(e, args, msgOperand)
	if !ok {
		return nil
	}
	return s
}

// membership gets a property of a value.
type membership struct {
	x      operand
	name   string
	of     lang.Type
	result lang.Type
}

func (f *membership) run(e *evaluation, args []any) any {
	return e.memberOf(f.x.get(e, args), f.name, f.of, f.result)
}

type indexing struct{ x, key operand }

func (f *indexing) run(e *evaluation, args []any) any {
	return e.index(f.x.get(e, args), f.key.get(e, args))
}

type queryMember struct{ name string }

func (f *queryMember) run(e *evaluation, _ []any) any { return e.queryMember(f.name) }

// match is the method matches.
type match struct {
	x  operand
	re *lang.Machine
}

func (f *match) run(e *evaluation, args []any) any {
	s, v, ok := f.x.str(e, args)
	if !ok {
		return e.reject(lang.Boolean, msgNoString, v)
	}
	return e.matches(f.re, s)
}

// method is any other method of strings.
type method struct {
	x      operand
	args   []operand
	call   stringMethod
	result lang.Type
}

func (f *method) run(e *evaluation, args []any) any {
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
