package ruleslint

import (
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/lang"
)

// expression looks at the expression of a rule.
func (l *linter) expression(n *node, r *rules.Rule) {
	if r.Kind == rules.ReadRule {
		l.missingIndex(n, r)
	}
	l.nullEqual(n, r)
	explained := false // a part of it says why it is constant
	lang.Walk(r.Expr, func(x lang.Expr) bool {
		switch x := x.(type) {
		case *lang.Binary:
			explained = l.comparison(n, r, x) || explained
		case *lang.Call:
			l.call(r, x)
		case *lang.Member:
			l.claimName(r, x, x.X, x.Name)
		case *lang.Index:
			if name, ok := text(x.Key); ok {
				l.claimName(r, x, x.X, name)
			}
		case *lang.Regex:
			l.regex(r, x)
		}
		return true
	})
	if value, known := constant(r.Expr); known && !explained && !isLiteral(r.Expr) {
		if value {
			l.warn("always-true", r, -1, "this cannot be false; write true if that is meant")
		} else {
			l.warn("never-true", r, -1, "this cannot be true; write false if that is meant")
		}
	}
}

// comparison looks at a comparison. It reports whether it has one value only: then the rule
// gets no second warning that it is constant. The cases are in order of how much they explain,
// and a comparison gets one warning at most. token-text comes last and does not make the
// comparison constant, because a claim may really be the text 'true'.
func (l *linter) comparison(n *node, r *rules.Rule, x *lang.Binary) (constant bool) {
	if x.Op < lang.Eq || x.Op > lang.Ge {
		return false
	}
	from, _ := x.Span()
	capture, number := captureAndNumber(x)
	switch {
	case capture != "":
		l.warn("capture-number", r, from, "%s is a text and never a number like %s; compare it with a text", capture, number)
	case disjoint(x):
		l.warn("never-equal", r, from, "%s is %s and %s is %s, so they are never equal", x.X, x.X.Type(), x.Y, x.Y.Type())
	case alwaysFails(x):
		l.warn("always-fails", r, from, "ordering a text against a number is an error, which makes the whole rule false")
	case (x.Op == lang.Eq || x.Op == lang.Ne) && isObject(n, x.X) && isObject(n, x.Y):
		l.warn("object-equality", r, from, "objects are never equal, not even to themselves; compare their children")
	case tokenText(x.X, x.Y) || tokenText(x.Y, x.X):
		l.warn("token-text", r, from, "the claim %s is most often a boolean; compare it with true, without quotes", claim(x))
		return false
	default:
		return false
	}
	return true
}

// captureAndNumber returns the names of a capture and a number that x compares.
func captureAndNumber(x *lang.Binary) (capture, number string) {
	for _, sides := range [][2]lang.Expr{{x.X, x.Y}, {x.Y, x.X}} {
		v, ok := sides[0].(*lang.Variable)
		if ok && strings.HasPrefix(v.Name, "$") && sides[1].Type() == lang.Number {
			return v.Name, sides[1].String()
		}
	}
	return "", ""
}

// isObject reports whether an expression can hardly be anything but an object or
// null: auth, its token, or the value of a node below which there are rules. n is the node of
// the rule, which data and newData are about; child() leads to nodes that are not looked up.
func isObject(n *node, x lang.Expr) bool {
	switch x := x.(type) {
	case *lang.Variable:
		return x.Name == "auth"
	case *lang.Member:
		v, ok := x.X.(*lang.Variable)
		return ok && v.Name == "auth" && x.Name == "token"
	case *lang.Call:
		m, ok := x.Fun.(*lang.Member)
		if !ok || m.Name != "val" || len(n.children) == 0 {
			return false
		}
		v, ok := m.X.(*lang.Variable)
		return ok && (v.Name == "data" || v.Name == "newData")
	}
	return false
}

// tokenText reports whether x is a claim and y the text of a boolean.
func tokenText(x, y lang.Expr) bool {
	s, ok := text(y)
	return ok && (s == "true" || s == "false") && strings.HasPrefix(x.String(), "auth.token")
}

func claim(x *lang.Binary) lang.Expr {
	if _, ok := x.X.(*lang.Literal); ok {
		return x.Y
	}
	return x.X
}

// call looks at method calls.
func (l *linter) call(r *rules.Rule, x *lang.Call) {
	m, ok := x.Fun.(*lang.Member)
	if !ok || m.Name != "exists" || r.Kind != rules.ValidateRule {
		return
	}
	if v, ok := m.X.(*lang.Variable); ok && v.Name == "newData" {
		from, _ := x.Span()
		l.warn("validate-exists", r, from, "a removed node is not validated, so newData.exists() is always true here; to forbid removals, ask for it in .write")
	}
}

// regex looks for what means something else than in JavaScript (rules §5.8). A pattern that is
// a mistake has been refused by the compiler; these are valid and rarely meant.
func (l *linter) regex(r *rules.Rule, x *lang.Regex) {
	from, _ := x.Span()
	inSet := false
	for i := 0; i < len(x.Pattern); i++ {
		switch c := x.Pattern[i]; {
		case c == '\\' && i+1 < len(x.Pattern):
			i++
			if e := x.Pattern[i]; isLetter(e) && !strings.ContainsRune("swdSWD", rune(e)) {
				l.warn("regex-escape", r, from+i, `\%c means the letter %c here, unlike in JavaScript`, e, e)
			}
		case c == '[':
			inSet = true
		case c == ']':
			inSet = false
		case c == '(' && !inSet && strings.HasPrefix(x.Pattern[i+1:], "?"):
			l.warn("regex-group", r, from+i+1, "(? begins a group with an ordinary question mark here, unlike in JavaScript; leave it out")
		}
	}
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
