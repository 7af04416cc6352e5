// Package rulesmutate finds out whether tests of rules would notice a mistake in
// them: it makes mutants, rules with one small mistake each, and runs the tests
// with each. A mutant that no test fails on survives, and shows what is untested.
//
// Its nouns: a Mutant, the Fate and Result of one, and the Report of all; a Search for tests that
// kill survivors, and the Suggestions that it finds.
package rulesmutate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// A Mutant is a rules document with one mistake, of one of these kinds:
//
//	comparison     == becomes !=, < becomes <= or >=, and so on
//	logic          && becomes ||, || becomes &&
//	drop-operand   one side of && or || is left out
//	negate         a condition becomes its opposite
//	branch         of a ternary only one branch is left
//	swap-data      data becomes newData, newData becomes data
//	number         a number is off by one
//	rule-true      a rule becomes true
//	rule-false     a rule becomes false
//	drop-validate  a .validate is left out
//
// One mistake each: a test that notices two at once may notice neither alone.
type Mutant struct {
	Rule *rules.Rule // as it is in the rules without the mistake
	Kind string
	Pos  rules.Pos // of what is changed
	From string    // the expression that is changed, in canonical form
	To   string    // what it becomes
	Text string    // the document
}

// Mutants returns all mutants of a document that compile, in the order of its rules. The same
// document has the same mutants each time: explanations in test files name them by rule, kind and
// texts.
func Mutants(src *rulestest.Source) ([]*Mutant, error) {
	rs, err := src.Compile()
	if err != nil {
		return nil, err
	}
	doc, err := jsonc.Parse(src.Text)
	if err != nil {
		return nil, err
	}
	g := generator{src: src, doc: doc}
	for r := range rs.Rules() {
		g.rule = r
		if g.value = find(doc, r.Path); g.value == nil {
			return nil, fmt.Errorf("%s is not in the document", r.Path)
		}
		g.seen = map[string]bool{r.Expr.String(): true}
		g.mutate()
	}
	return g.mutants, nil
}

// compile returns the rules with the mistake. src is what they were made of. A Mutant does not
// keep them: a document may have thousands of mutants.
func (m *Mutant) compile(src *rulestest.Source) (*rules.Ruleset, error) {
	return rules.ParseWith(m.Text, src.Options)
}

// find returns the value of the rule with a path, "/rooms/$room/.read". A document that compiles
// is an object whose first member is "rules".
func find(doc *jsonc.Doc, path string) *hujson.Value {
	v := &doc.Root.Value.(*hujson.Object).Members[0].Value
	for key := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		if v = jsonc.Member(obj, key); v == nil {
			return nil
		}
	}
	return v
}

// A generator makes the mutants of one document.
//
// It edits the syntax tree's source text by spans and compiles the result, so
// every mutant is a document that a server would accept. Two mutants with the
// same text are one: to count both would make an untested place look twice as
// bad.
type generator struct {
	src     *rulestest.Source
	doc     *jsonc.Doc
	rule    *rules.Rule
	value   *hujson.Value   // of the rule
	seen    map[string]bool // expressions of this rule, canonical
	parents map[lang.Expr]lang.Expr
	mutants []*Mutant
}

// mutate makes the mutants of one rule.
func (g *generator) mutate() {
	x := g.rule.Expr
	negated := make(map[lang.Expr]bool) // their negation is among the mutants
	g.parents = make(map[lang.Expr]lang.Expr)
	if g.rule.Kind == rules.ValidateRule {
		g.replace("drop-validate", x, "true")
	} else {
		g.replace("rule-true", x, "true")
	}
	g.replace("rule-false", x, "false")
	lang.Walk(x, func(x lang.Expr) bool {
		g.adopt(x)
		switch x := x.(type) {
		case *lang.Binary:
			g.binary(x)
		case *lang.Cond:
			g.replace("branch", x, g.text(x.Then))
			g.replace("branch", x, g.text(x.Else))
		case *lang.Unary:
			if x.Op == lang.Not {
				g.replace("negate", x, g.text(x.X))
				negated[x.X] = true
			}
		case *lang.Variable:
			g.swap(x)
		case *lang.Literal:
			if n, ok := x.Value.(float64); ok {
				g.inside(g.operation(x), "number", x, strconv.FormatFloat(n+1, 'g', -1, 64))
				g.inside(g.operation(x), "number", x, strconv.FormatFloat(n-1, 'g', -1, 64))
			}
		}
		if isCondition(x) && !negated[x] {
			g.replace("negate", x, "!("+g.text(x)+")")
		}
		return true
	})
}

// isCondition reports whether x is true or false and no combination of such. The opposite of a
// comparison is a mutant already, and of a combination each operand has its own.
func isCondition(x lang.Expr) bool {
	if x.Type() != lang.Boolean {
		return false
	}
	switch x.(type) {
	case *lang.Call, *lang.Member:
		return true
	}
	return false
}

// comparisons are the operators that each comparison becomes: its opposite, and the one
// that differs only if both sides are equal.
var comparisons = map[lang.Op][]lang.Op{
	lang.Eq: {lang.Ne},
	lang.Ne: {lang.Eq},
	lang.Lt: {lang.Le, lang.Ge},
	lang.Le: {lang.Lt, lang.Gt},
	lang.Gt: {lang.Ge, lang.Le},
	lang.Ge: {lang.Gt, lang.Lt},
}

// binary makes the mutants of an operator.
func (g *generator) binary(x *lang.Binary) {
	left, right := g.text(x.X), g.text(x.Y)
	for _, op := range comparisons[x.Op] {
		g.replace("comparison", x, "("+left+") "+op.String()+" ("+right+")")
	}
	switch x.Op {
	case lang.And:
		g.replace("logic", x, "("+left+") || ("+right+")")
	case lang.Or:
		g.replace("logic", x, "("+left+") && ("+right+")")
	default:
		return
	}
	g.replace("drop-operand", x, right)
	g.replace("drop-operand", x, left)
}

// swap makes the mutant that looks at the other tree.
func (g *generator) swap(x *lang.Variable) {
	other := map[string]string{"data": "newData", "newData": "data"}[x.Name]
	if other != "" && g.rule.Kind != rules.ReadRule {
		g.inside(g.chain(x), "swap-data", x, other)
	}
}

// adopt notes which expression the operands of x are in.
func (g *generator) adopt(x lang.Expr) {
	switch x := x.(type) {
	case *lang.Binary:
		g.parents[x.X], g.parents[x.Y] = x, x
	case *lang.Member:
		g.parents[x.X] = x
	case *lang.Call:
		g.parents[x.Fun] = x
	}
}

// chain returns the chain of members and calls that x begins: of data in
// data.child('a').val() all of it. So the mutants of a rule can be told apart.
func (g *generator) chain(x lang.Expr) lang.Expr {
	for {
		switch p := g.parents[x].(type) {
		case *lang.Member, *lang.Call:
			x = p
		default:
			return x
		}
	}
}

// operation returns the operation that x is an operand of, x if there is none.
func (g *generator) operation(x lang.Expr) lang.Expr {
	if p, ok := g.parents[x].(*lang.Binary); ok {
		return p
	}
	return x
}

// inside is replace of a part of x. It names all of x as what is changed, since "5 -> 6" or
// "data -> newData" would not say where.
func (g *generator) inside(x lang.Expr, kind string, part lang.Expr, with string) {
	from, to := x.Span()
	start, end := part.Span()
	if start < from || end > to { // parentheses around x are not in its span
		x, from, to = part, start, end
	}
	g.replace(kind, x, g.rule.Source[from:start]+with+g.rule.Source[end:to])
}

// text returns the source of an expression.
func (g *generator) text(x lang.Expr) string {
	from, to := x.Span()
	return g.rule.Source[from:to]
}

// replace makes a mutant in which an expression is replaced by another, unless
// it is one that there is already or does not compile.
func (g *generator) replace(kind string, x lang.Expr, with string) {
	from, to := x.Span()
	src := g.rule.Source[:from] + "(" + with + ")" + g.rule.Source[to:]
	tree, err := lang.Parse(src, g.src.Options.Dialect)
	if err != nil {
		return
	}
	canonical := tree.String()
	if g.seen[canonical] {
		return
	}
	g.seen[canonical] = true
	text := g.doc.Text[:g.value.StartOffset] + jsonc.Quote(canonical) + g.doc.Text[g.value.EndOffset:]
	if _, err := rules.ParseWith(text, g.src.Options); err != nil {
		return
	}
	to2 := with
	if y, err := lang.Parse(with, g.src.Options.Dialect); err == nil {
		to2 = y.String()
	}
	pos := g.rule.Pos
	if from > 0 {
		pos = g.rule.At(from)
	}
	g.mutants = append(g.mutants, &Mutant{g.rule, kind, pos, x.String(), to2, text})
}
