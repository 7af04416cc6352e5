package explain

import (
	"fmt"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/lang"
)

// Brief says in one line how a request was decided: which rule it was and, of a
// rule that is not true, which of its conditions. It quotes rules, never data.
//
// It is also sent to clients of a development server and to the log, where data
// must not get. So it has nothing but text of the rules and paths: none of Step.Values. The
// reason of a rule that failed names the kind of a value, as in "not a number", never the value.
func Brief(q *rules.Request, t *rules.Trace) string {
	q = q.Of(t.Decision)
	text := Operation(q) + ": "
	if t.Excess != nil {
		return text + escape(excess(t.Excess))
	}
	if t.Kept != "" {
		return text + escape(t.Kept)
	}
	s := t.Deciding()
	if s == nil {
		if t.Allow {
			return text + "allowed"
		}
		if t.Rule != "" { // it came after the last that was noted
			return text + escape(t.Rule) + " is not true"
		}
		return text + fmt.Sprintf("there is no %s rule on the way to it", ruleFor(q))
	}
	what := "is " + s.Outcome.String()
	if s.Outcome == rules.Failed {
		what = "failed"
	}
	text += fmt.Sprintf("%s (%s) %s", escape(s.Rule.Path), s.Rule.Pos, what)
	if len(q.Writes) > 1 {
		text += " for " + escape(q.Writes[s.Target].Target.String())
	}
	if part := culprit(s); part != "" {
		text += ", because of: " + part
	}
	if s.Outcome == rules.Failed && s.Why != "" {
		text += " (" + shorten(s.Why, maxValue) + ")"
	}
	return text
}

// excess says that a read would show too much, and which declaration says so.
func excess(x *rules.Excess) string {
	return fmt.Sprintf("%s (%s)", x, x.Limit.Pos)
}

// culprit returns the source of the first condition of a chain of && that is not
// true, "" if that is the whole rule. It goes down the left side first, since the language
// evaluates from there: a right side was reached only if the left one is true. A || is not
// opened, as all of its sides are to blame.
func culprit(s *rules.Step) string {
	if s.Outcome == rules.True {
		return ""
	}
	values := make(map[lang.Expr]string)
	for _, v := range s.Values {
		values[v.Expr] = v.Text
	}
	x := s.Rule.Expr
	for {
		b, ok := x.(*lang.Binary)
		if !ok || b.Op != lang.And {
			break
		}
		if values[b.X] == "true" {
			x = b.Y
		} else {
			x = b.X
		}
	}
	if x == s.Rule.Expr {
		return ""
	}
	from, to := x.Span()
	if from < 0 || to > len(s.Rule.Source) || from >= to {
		return ""
	}
	return shorten(clean(s.Rule.Source[from:to]), maxValue)
}
