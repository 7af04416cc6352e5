package ruleslint

import (
	"fmt"
	"slices"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/lang"
)

// nodes looks at n and the nodes below it. granted are rules above them that
// always grant reads and writes, nil where there is none. It is an array and so copied at each
// call: what a node adds holds below it and not for its siblings. Grants cascade (rules §3), so
// below a rule that is always true no other rule of its kind can change a decision.
func (l *linter) nodes(n *node, granted [2]*rules.Rule) {
	for _, kind := range []rules.Kind{rules.ReadRule, rules.WriteRule} {
		r := n.rules[kind]
		if r == nil {
			continue
		}
		if above := granted[kind]; above != nil {
			l.warn("dead-rule", r, -1, "this has no effect: %s (line %d) grants it to everybody already", above.Path, above.Pos.Line)
			continue
		}
		if n.parent == nil {
			l.openRoot(r)
		}
		if alwaysHolds(r) {
			granted[kind] = r
		}
	}
	l.reachable(n)
	l.shadowed(n)
	l.idleLimit(n)
	for _, c := range n.children {
		l.nodes(c, granted)
	}
}

// openRoot warns of a root that every client, or every client that signs in, may read
// or write. Only these two spellings of "signed in" are known; FindAccess
// can find others, since it asks the rule.
func (l *linter) openRoot(r *rules.Rule) {
	verb := "read"
	if r.Kind == rules.WriteRule {
		verb = "write"
	}
	switch {
	case alwaysHolds(r):
		l.warn("open-root", r, -1, "everybody may %s the whole database; move the rule to the nodes that need it", verb)
	case r.Expr.String() == "auth != null" || r.Expr.String() == "auth.uid != null":
		l.warn("open-root", r, -1, "everybody who signs in, also anonymously, may %s the whole database; move the rule to the nodes that need it", verb)
	}
}

// reachable warns of a .validate that no write can bring about: it is asked of
// writes at its node, above it and below it (rules §4). A capture and a literal child beneath
// one parent are different branches: a .write in one does not reach a .validate in the other.
func (l *linter) reachable(n *node) {
	r := n.rules[rules.ValidateRule]
	if r == nil || isLiteral(r.Expr) {
		return // what is plainly false is there to stay so
	}
	if len(grantsAround(n)) > 0 {
		return
	}
	l.warn("unreachable-validate", r, -1, "nobody may write here, above or below, so this is asked only about what follows by a data document; if none keeps this place, add a .write or remove it")
}

// idleLimit warns of a .limit where nobody may read. Nobody who is limited, that is.
func (l *linter) idleLimit(n *node) {
	if n.limit == (rules.Pos{}) || n.mayGrant(rules.ReadRule) {
		return
	}
	l.found = append(l.found, Warning{"idle-limit", n.limit, n.path + "/.limit", "nobody may read this node, so there is nothing to limit; add a .read here or above, or remove it"})
}

// shadowed warns of literal children that lack a rule which the capture beside
// them has: the literal wins, and the capture's rule does not apply to it.
//
// It is how the language works and rarely what is meant: the rules of $room do
// not apply to rooms/lobby as soon as lobby has a node of its own (rules §1.3). A .read
// or .write of $room that is always true counts as missing in lobby; a .validate that is always
// true does not, since it would refuse nothing there.
func (l *linter) shadowed(n *node) {
	c := n.capture()
	if c == nil {
		return
	}
	for _, kind := range []rules.Kind{rules.ReadRule, rules.WriteRule, rules.ValidateRule} {
		r := c.rules[kind]
		if r == nil || isLiteral(r.Expr) && !alwaysHolds(r) {
			continue // refusing all other keys is what captures are for
		}
		if kind == rules.ValidateRule && alwaysHolds(r) {
			continue
		}
		for _, lit := range n.children {
			if lit == c || lit.rules[kind] != nil || kind != rules.ValidateRule && lit.grants(kind) {
				continue
			}
			l.found = append(l.found, Warning{"shadowed", lit.pos, lit.path, fmt.Sprintf(
				"%s of %s does not apply to %s, which has none of its own; repeat it here, or write true or false", kind, c.key, lit.key)})
		}
	}
}

// grants reports whether a node above or below n may grant an operation, so that
// the node has been thought of.
func (n *node) grants(kind rules.Kind) bool {
	for d := range n.all() {
		if d.rules[kind] != nil {
			return true
		}
	}
	return n.parent.mayGrant(kind)
}

// mayGrant reports whether a rule of n or above it may grant an operation.
func (n *node) mayGrant(kind rules.Kind) bool {
	for ; n != nil; n = n.parent {
		if mayHold(n.rules[kind]) {
			return true
		}
	}
	return false
}

// missingIndex warns if a rule compares query.orderByChild with a name, or wants
// query.orderByValue, and no .indexOn of its node or below names that. Nodes below count
// because a .read cascades: the query that it allows may be of a deeper node, and the index
// has to be declared there.
func (l *linter) missingIndex(n *node, r *rules.Rule) {
	check := func(order string, x lang.Expr) {
		for d := range n.all() {
			if slices.Contains(d.indexes, order) {
				return
			}
		}
		from, _ := x.Span()
		l.warn("missing-index", r, from, "queries by %s need an index; add \".indexOn\": %q here", order, order)
	}
	lang.Walk(r.Expr, func(x lang.Expr) bool {
		switch x := x.(type) {
		case *lang.Binary:
			if x.Op != lang.Eq {
				return true
			}
			for _, sides := range [][2]lang.Expr{{x.X, x.Y}, {x.Y, x.X}} {
				name, ok := text(sides[1])
				if ok && isQuery(sides[0], "orderByChild") {
					check(name, sides[0])
				}
			}
		case *lang.Member:
			if isQuery(x, "orderByValue") {
				check(".value", x)
			}
		}
		return true
	})
}

func isQuery(x lang.Expr, name string) bool {
	m, ok := x.(*lang.Member)
	return ok && m.Name == name && m.X.Type() == lang.Query
}

// text returns the value of a string literal.
func text(x lang.Expr) (string, bool) {
	lit, ok := x.(*lang.Literal)
	if !ok {
		return "", false
	}
	s, ok := lit.Value.(string)
	return s, ok
}
