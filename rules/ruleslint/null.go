package ruleslint

import (
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/lang"
)

// maxNullSteps bounds the work on one rule. Nested alternatives could otherwise
// take exponential time. A rule beyond it gets a warning instead of an answer, so that it is
// not taken for one without holes.
const maxNullSteps = 500_000

// A nullFinder looks for comparisons that a rule rests on and that hold because both
// sides are null. It follows the conditions of an expression: in each place it knows
// what cannot be null there, since the rule would be false or fail otherwise.
//
// Such a comparison is the most frequent hole in rules: data.child('owner').val() ==
// auth.uid holds for a signed-out caller where there is no owner. Type checks
// cannot find it, because both sides may well be strings.
//
// It errs on the side of warning: a fact that it cannot follow does not count as known. A
// comparison is reported only if of neither side it is known that it is not null.
//
// visit and implied are the two halves. In auth != null && data.child('owner').val() ==
// auth.uid, visit reaches the second operand with what implied says of the first: auth, and
// with it auth.uid, is not null. Guards cannot be matched as text: they also stand behind !,
// in a branch of a ternary, or in the .write that goes with a .validate.
type nullFinder struct {
	names
	found []*lang.Binary // each once, although visit may get to it several times
	apart []*lang.Binary // inequalities that hold since auth is null, likewise
	steps int            // of visit, implied and evaluated; beyond maxNullSteps the result is not used
}

// nullEqual warns of comparisons in r that null satisfies on both sides.
//
// A .validate begins with more facts than a grant. It is asked only of nodes that exist after
// the write (rules §4), and the write is taken for one that some .write has granted.
func (l *linter) nullEqual(n *node, r *rules.Rule) {
	if _, known := constant(r.Expr); known {
		return
	}
	given := facts{}
	if r.Kind == rules.ValidateRule {
		given = granted(n)
		given.addPath(newPath(n).String())
	}
	f := nullFinder{names: names{n, r.Path}}
	f.visit(r.Expr, true, given)
	if f.steps > maxNullSteps {
		l.warn("null-equal", r, -1, "this is too complex to find out whether it compares null with null; split it")
		return
	}
	for _, x := range f.apart {
		if r.Kind == rules.ValidateRule {
			continue // about what is valid, and not about the caller
		}
		from, _ := x.Span()
		l.warn("null-differs", r, from, "%s holds without signing in, as null differs from other values; add auth != null &&", x)
	}
	for _, x := range f.found {
		if r.Kind == rules.ValidateRule && !mentionsAuth(x) {
			continue // data against data: about what is valid, and not about who may
		}
		from, _ := x.Span()
		l.warn("null-equal", r, from, "%s and %s may both be null, and null equals null; add %s", x.X, x.Y, guard(x))
	}
}

// granted returns what no write that n's .validate is asked of can leave null: what all
// .write rules that may grant one agree on. A write must satisfy all of .validate and one
// .write, hence what all of the latter have in common.
func granted(n *node) facts {
	var common facts
	for _, w := range grantsAround(n) {
		f := nullFinder{names: names{w.node, w.rule.Path}}
		given := f.implied(w.rule.Expr, true, facts{})
		if f.steps > maxNullSteps {
			return facts{}
		}
		if common == nil {
			common = given
		} else {
			common = common.and(given)
		}
	}
	if common == nil {
		return facts{}
	}
	return common
}

// A grantAt is a .write rule and its node.
type grantAt struct {
	node *node
	rule *rules.Rule
}

// grantsAround returns the .write rules above n, of it and below it that may hold.
func grantsAround(n *node) (list []grantAt) {
	add := func(n *node) {
		if r := n.rules[rules.WriteRule]; mayHold(r) {
			list = append(list, grantAt{n, r})
		}
	}
	for a := n.parent; a != nil; a = a.parent {
		add(a)
	}
	for d := range n.all() {
		add(d)
	}
	return list
}

// visit looks at x where the rule needs it to be want. What given names is not null.
//
// If given contradicts itself, as in the Else of true ? a : b, no request gets there and there
// is nothing to report.
//
// The tests of a ternary are looked at twice, with what each branch tells if it has the
// wanted value. That is what can take exponential time, and why steps are counted.
func (f *nullFinder) visit(x lang.Expr, want bool, given facts) {
	if f.steps++; f.steps > maxNullSteps || given.contradictory() {
		return
	}
	switch x := x.(type) {
	case *lang.Unary:
		if x.Op == lang.Not {
			f.visit(x.X, !want, given)
			return
		}
	case *lang.Binary:
		f.visitBinary(x, want, given)
		return
	case *lang.Cond:
		f.visit(x.Then, want, given.or(f.implied(x.Test, true, given)))
		f.visit(x.Else, want, given.or(f.implied(x.Test, false, given)))
		f.visit(x.Test, true, given.or(f.implied(x.Then, want, given)))
		f.visit(x.Test, false, given.or(f.implied(x.Else, want, given)))
		return
	}
	f.nested(x, given)
}

func (f *nullFinder) visitBinary(x *lang.Binary, want bool, given facts) {
	switch {
	case isLogical(x) && (x.Op == lang.And) == want: // all parts are needed
		parts := operands(x, x.Op, nil)
		for i, part := range parts {
			f.visit(part, want, f.others(parts, i, want, given))
		}
		return
	case isLogical(x): // one part is enough
		f.visit(x.X, want, given)
		f.visit(x.Y, want, given.or(f.implied(x.X, !want, given)))
		return
	case x.Op != lang.Eq && x.Op != lang.Ne:
	case x.X.Type() == lang.Boolean && x.Y.Type() == lang.Boolean:
		for _, c := range booleanCases(x, want) {
			f.visit(x.X, c[0], given.or(f.implied(x.Y, c[1], given)))
			f.visit(x.Y, c[1], given.or(f.implied(x.X, c[0], given)))
		}
		return
	case (x.Op == lang.Eq) == want:
		f.compare(x, given)
	default:
		f.differ(x, given)
	}
	f.nested(x.X, given)
	f.nested(x.Y, given)
}

// others returns what is not null if all parts but one are want. The order of a chain of &&
// plays no role here: a guard that stands behind the comparison denies the rule just as well.
// It is quadratic in the parts, and repeated until no part adds a fact; steps bound it.
func (f *nullFinder) others(parts []lang.Expr, except int, want bool, given facts) facts {
	for size := -1; size < len(given); { // a part may tell more about one before it
		size = len(given)
		for i, part := range parts {
			if i != except {
				given = given.or(f.implied(part, want, given))
			}
		}
	}
	return given
}

// nested looks at the tests of ternaries inside a value: either outcome matters.
func (f *nullFinder) nested(x lang.Expr, given facts) {
	lang.Walk(x, func(x lang.Expr) bool {
		c, ok := x.(*lang.Cond)
		if ok {
			f.visit(c.Test, true, given)
			f.visit(c.Test, false, given)
			f.nested(c.Then, given.or(f.implied(c.Test, true, given)))
			f.nested(c.Else, given.or(f.implied(c.Test, false, given)))
		}
		return !ok
	})
}

// compare looks at an equality that has to hold.
func (f *nullFinder) compare(x *lang.Binary, given facts) {
	if isNull(x.X) || isNull(x.Y) || f.unchanged(x) {
		return // null is meant
	}
	if f.notNull(x.X, given) || f.notNull(x.Y, given) {
		return
	}
	f.found = addOnce(f.found, x)
}

// differ looks at an inequality that has to hold. If one side is a member of auth and the other is
// not, it holds for a caller without auth, unless the other side is null.
func (f *nullFinder) differ(x *lang.Binary, given facts) {
	if isNull(x.X) || isNull(x.Y) || ofAuth(x.X) == ofAuth(x.Y) {
		return
	}
	lang.Walk(x, func(y lang.Expr) bool {
		if v, ok := y.(*lang.Variable); ok && v.Name == "auth" && !f.notNull(v, given) {
			f.apart = addOnce(f.apart, x)
		}
		return true
	})
}

// ofAuth reports whether x is a member of auth, and no call that would fail without auth.
func ofAuth(x lang.Expr) bool {
	text := x.String()
	return (strings.HasPrefix(text, "auth.") || strings.HasPrefix(text, "auth[")) && !strings.Contains(text, "(")
}

func addOnce(list []*lang.Binary, x *lang.Binary) []*lang.Binary {
	for _, y := range list {
		if x == y {
			return list
		}
	}
	return append(list, x)
}

// unchanged reports whether x compares what is at a path before and after the write, as in
// newData.child('owner').val() == data.child('owner').val(). Null on both sides is meant there:
// the write does not touch it.
func (f *nullFinder) unchanged(x *lang.Binary) bool {
	a, ok1 := f.key(x.X)
	b, ok2 := f.key(x.Y)
	if !ok1 || !ok2 || a == b {
		return ok1 && ok2
	}
	if strings.HasPrefix(a, newTree) {
		a, b = b, a
	}
	p, ok1 := strings.CutPrefix(a, oldTree)
	q, ok2 := strings.CutPrefix(b, newTree)
	return ok1 && ok2 && p == q
}

// notNull reports whether x cannot be null where given holds.
func (f *nullFinder) notNull(x lang.Expr, given facts) bool {
	if x.Type()&lang.Null == 0 {
		return true
	}
	if c, ok := x.(*lang.Cond); ok {
		return f.notNull(c.Then, given.or(f.implied(c.Test, true, given))) &&
			f.notNull(c.Else, given.or(f.implied(c.Test, false, given)))
	}
	key, ok := f.key(x)
	return ok && given.has(key) || given.contradictory()
}

// booleanCases returns the values of both sides of a comparison of booleans for
// which it is want. A literal is one of them.
func booleanCases(x *lang.Binary, want bool) (list [][2]bool) {
	for _, a := range []bool{true, false} {
		b := a == (want == (x.Op == lang.Eq))
		if !contradictsLiteral(x.X, a) && !contradictsLiteral(x.Y, b) {
			list = append(list, [2]bool{a, b})
		}
	}
	return list
}

func contradictsLiteral(x lang.Expr, value bool) bool {
	lit, ok := x.(*lang.Literal)
	return ok && lit.Value != value
}

func isLogical(x *lang.Binary) bool { return x.Op == lang.And || x.Op == lang.Or }

func isNull(x lang.Expr) bool {
	lit, ok := x.(*lang.Literal)
	return ok && lit.Value == nil
}

// operands appends the operands of a chain of one operator.
func operands(x lang.Expr, op lang.Op, list []lang.Expr) []lang.Expr {
	if b, ok := x.(*lang.Binary); ok && b.Op == op {
		return operands(b.Y, op, operands(b.X, op, list))
	}
	return append(list, x)
}

func mentionsAuth(x lang.Expr) (found bool) {
	lang.Walk(x, func(x lang.Expr) bool {
		v, ok := x.(*lang.Variable)
		found = found || ok && v.Name == "auth"
		return !found
	})
	return found
}

// guard returns the condition that mends an equality: one side must not be null. It takes
// auth or a claim if there is one, then exists() of a node, and otherwise the left side.
func guard(x *lang.Binary) string {
	for _, side := range []lang.Expr{x.X, x.Y} {
		switch text := side.String(); {
		case text == "auth" || text == "auth.uid" || text == "auth.provider":
			return "auth != null &&"
		case side.Type()&lang.Claims != 0 && mentionsAuth(side):
			return text + " != null &&"
		}
	}
	for _, side := range []lang.Expr{x.X, x.Y} {
		if c, ok := side.(*lang.Call); ok && c.Fun.(*lang.Member).Name == "val" {
			return c.Fun.(*lang.Member).X.String() + ".exists() &&"
		}
	}
	return x.X.String() + " != null &&"
}
