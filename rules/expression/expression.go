// Package expression has the expressions of the rules language for what is no rule: they
// see one node of the tree, as the variable data, and the keys that captures have matched.
// So their value depends on that node alone.
//
// Its nouns: an Expression is compiled from a text, Trees are the states of the tree before
// and after an update, in which an Expression is evaluated. A Filter is an Expression about the
// children of a queried node, and a Child the tree in which several filters look at one child.
//
// Declared data (package derive) uses Compile and Trees, queries use Filter. Both depend on the
// value being a function of the node: derived data is recomputed from it, and a listener's
// filter is asked again about a child only when that child changes.
package expression

import (
	"fmt"
	"sort"

	"github.com/dogwooddb/dogwood/rules/internal/eval"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// An Expression is compiled. It never changes, so any number of goroutines may evaluate it, each
// in Trees of its own. Only this package makes them; the zero Expression cannot be evaluated.
type Expression struct {
	program *eval.Program
	source  string
	needs   []tree.Need // of a filter
	size    int         // of a filter: about how much memory it takes
}

// String returns the expression in canonical form.
func (x *Expression) String() string { return x.source }

// Compile compiles an expression of any type that can be stored. captures are the
// captures that it may name, "$room", with the depth of their key in the paths of nodes: of
// /rooms/$room/members/$uid, $room has depth 1 and $uid 3. A type is checked as far as it is
// known; val() may still be an object at run time, which Trees.Value reports.
func Compile(src string, captures map[string]int) (*Expression, *lang.Error) {
	return compile(lang.Parse, src, lang.Scope{}, captures, func(x lang.Expr, s lang.Scope) *lang.Error {
		if err := lang.CheckAny(x, s); err != nil {
			return err
		}
		if x.Type()&storable == 0 {
			return errorAt(x, "Expected a value to store, found a %s. Add .val() to a snapshot.", x.Type())
		}
		return nil
	})
}

// storable are the types of leaves, and null, which is the value of no node.
const storable = lang.Null | lang.Boolean | lang.Number | lang.String

// CompileCondition compiles an expression that is true or false.
func CompileCondition(src string, captures map[string]int) (*Expression, *lang.Error) {
	return compile(lang.Parse, src, lang.Scope{}, captures, lang.Check)
}

// compile compiles an expression with the extensions of a scope. outside comes before check, so
// that the error about auth or now says why it is missing here.
func compile(parse func(string, lang.Dialect) (lang.Expr, *lang.Error), src string, scope lang.Scope, captures map[string]int, check func(lang.Expr, lang.Scope) *lang.Error) (*Expression, *lang.Error) {
	x, err := parse(src, lang.Firebase)
	if err != nil {
		return nil, err
	}
	if err := outside(x); err != nil {
		return nil, err
	}
	for name := range captures {
		scope.Captures = append(scope.Captures, name)
	}
	sort.Slice(scope.Captures, func(i, j int) bool { return captures[scope.Captures[i]] < captures[scope.Captures[j]] })
	if err := check(x, scope); err != nil {
		return nil, err
	}
	program, failed := eval.Compile(x, captures)
	if failed != nil { // a fault of ours
		return nil, errorAt(x, "Expression can't be compiled.")
	}
	return &Expression{program: program, source: x.String()}, nil
}

// outside returns an error at the first part of x that looks beyond the node: variables
// that only rules have, and parents.
func outside(x lang.Expr) (err *lang.Error) {
	lang.Walk(x, func(x lang.Expr) bool {
		switch x := x.(type) {
		case *lang.Variable:
			switch x.Name {
			case "auth", "now", "root", "query", "newData", "newRoot":
				err = first(err, errorAt(x, "%s is for rules only. Here are data, which is the node, and the captures of its path.", x.Name))
			}
		case *lang.Member:
			if x.Name == "parent" {
				err = first(err, errorAt(x, "parent() is for rules only. Here is data, which is the node, and what is below it."))
			}
		}
		return err == nil
	})
	return err
}

func first(a, b *lang.Error) *lang.Error {
	if a != nil {
		return a
	}
	return b
}

// errorAt makes an error at the beginning of x.
func errorAt(x lang.Expr, format string, args ...any) *lang.Error {
	from, _ := x.Span()
	return &lang.Error{Offset: from, Msg: fmt.Sprintf(format, args...)}
}
