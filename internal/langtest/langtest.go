// Package langtest makes random rules for tests: of the language itself, and of
// what evaluates it in two ways.
package langtest

import (
	"math/rand/v2"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// The vocabulary of the rules that Generate makes. Data, claims and paths made of
// the same words are where the rules look.
var (
	// Keys are child names and claims.
	Keys = []string{"a", "b", "c", "0", "1", "uid", "é"}

	// Strings are values that rules compare with. Some are keys or paths.
	Strings = []string{"", "a", "b", "A", "ab", "aba", "a/b", "/c/", "0", "1", "10", "5.5", "a.b", "true", "null", "É", "\U0001F600", "\uFFFD"}

	// Numbers are values that rules compare with.
	Numbers = []float64{0, 1, 2, 3, 10, 0.5, 5.5, 1e21, 1e-7, 1700000000000, 1 << 53}

	// Patterns are regular expressions without their slashes.
	Patterns = []string{"a", "^a", "b$", "^[a-z]+$", "^$", "a|b", "(a|b){2}", "^.$", `\d`, `^\w+$`, `\s`, "[^a]", `a\.b`, "^(ab?)*$", "é"}

	badPaths = []string{"", "/", ".", "a.b", "a/../b", "$x", "a#b", "a//b"}
)

// Generate makes a rule that passes lang.Check in scope s. It has every construct
// of the language sooner or later; rules have about 30 nodes, seldom a hundred, or
// a single one. What is left out is what may stand beside a comparable value in a
// ternary and has no meaning at run time: (true ? data : 1) == 1.
func Generate(r *rand.Rand, s lang.Scope) lang.Expr {
	for {
		g := generator{Rand: r, scope: s, budget: 1 + r.IntN(40)}
		x, err := lang.Parse(g.boolean().String(), s.Dialect)
		if err == nil && lang.Check(x, s) == nil {
			return x
		}
	}
}

// A generator makes trees by the type that is wanted. While it has budget left it
// makes operations, then operands.
type generator struct {
	*rand.Rand
	scope  lang.Scope
	budget int
}

// spend reports whether there is budget for another operation.
func (g *generator) spend() bool {
	g.budget--
	return g.budget > 0
}

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// oneOf calls one of the functions.
func (g *generator) oneOf(makers ...func() lang.Expr) lang.Expr { return pick(g, makers)() }

func (g *generator) boolean() lang.Expr {
	if !g.spend() {
		return g.oneOf(g.truth, g.queryFlag, g.exists)
	}
	return g.oneOf(
		g.logical, g.logical, g.logical, g.equality, g.equality, g.order, g.order,
		g.not, g.exists, g.hasChild, g.hasChildren, g.stringTest, g.stringTest,
		g.matches, g.queryFlag, g.ordering, g.truth, func() lang.Expr { return g.cond(g.boolean) },
	)
}

func (g *generator) number() lang.Expr {
	if !g.spend() {
		return g.oneOf(g.numberLiteral, g.now)
	}
	return g.oneOf(
		g.numberLiteral, g.now, g.length, g.limit, g.value, g.claim,
		g.arithmetic, g.arithmetic, g.negative, g.sum, func() lang.Expr { return g.cond(g.number) },
	)
}

func (g *generator) str() lang.Expr {
	if !g.spend() {
		return g.oneOf(g.stringLiteral, g.capture)
	}
	return g.oneOf(
		g.stringLiteral, g.capture, g.value, g.claim, g.bound, g.concat,
		g.replace, g.otherCase, func() lang.Expr { return g.cond(g.str) },
	)
}

// primitive makes what may be compared.
func (g *generator) primitive() lang.Expr {
	if !g.spend() {
		return g.oneOf(g.null, g.truth, g.numberLiteral, g.stringLiteral, g.capture)
	}
	return g.oneOf(
		g.null, g.truth, g.boolean, g.number, g.str, g.value, g.value, g.claim, g.claim,
		g.queryValue, g.priority, g.plus, func() lang.Expr { return g.cond(g.primitive) },
	)
}

// ordered makes what may be compared by order.
func (g *generator) ordered() lang.Expr {
	return g.oneOf(g.number, g.number, g.str, g.value, g.claim, g.priority, g.limit)
}

func (g *generator) snapshot() lang.Expr {
	if !g.spend() {
		return g.snapshotVariable()
	}
	return g.oneOf(
		g.snapshotVariable, g.child, g.child, g.child,
		func() lang.Expr { return g.call(g.snapshot(), "parent") },
		func() lang.Expr { return g.cond(g.snapshot) },
	)
}
