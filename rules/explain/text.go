package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/lang"
)

// Options say how much is told. The zero Options tell all rules that were asked and no values.
type Options struct {
	Values   bool   // what is written, and what sub-expressions evaluated to: both may show data
	Deciding bool   // of all the rules asked, only the one that decided
	Lines    int    // at most so many; 0: no bound but the common ones
	File     string // name of the rules document, for positions; "" leaves it out
}

// Bounds of a text. They hold whatever Options say: a trace has thousands of steps and values,
// and a text is often made while a write is decided.
const (
	maxSteps  = 40 // rules
	maxValues = 60 // of one rule
	maxWrites = 8  // paths of an update
	maxAuth   = 200
	maxValue  = 120 // bytes of one value
	maxLine   = 120 // a longer line of a source has no values drawn below it
	maxName   = 60  // bytes of a sub-expression that is quoted
)

// Text writes how a request was decided, a block of lines. The only error is that of w. q must
// be the request of t, and still valid: its writes are read.
//
//	denied  read /rooms/r1  as "bob"
//	→ false    /rooms/$room/.read   5:18   at /rooms/r1
//	           root.child('members').child($room).hasChild(auth.uid)
//
// The deciding step is always shown, even if it comes after the first maxSteps.
func Text(w io.Writer, q *rules.Request, t *rules.Trace, o Options) error {
	q = q.Of(t.Decision)
	b := &block{o: o, shown: make(map[*rules.Rule]bool)}
	b.head(q, t)
	decided := t.Deciding()
	for i := range t.Steps {
		if s := &t.Steps[i]; s == decided || !o.Deciding && i < maxSteps {
			b.step(s, s == decided)
		}
	}
	if x := t.Excess; x != nil {
		b.line("→ %-7s  %s   %s", "limit", x.Limit.Path, b.place(x.Limit.Pos))
		b.line("%s%s", margin, x)
	}
	if t.Kept != "" {
		b.line("→ %-7s  %s", "refused", t.Kept)
	}
	if n := len(t.Steps) - maxSteps; n > 0 && !o.Deciding {
		b.line("  … %d rules in all", len(t.Steps))
	}
	if len(t.Steps) == 0 && t.Rule == "" && t.Kept == "" {
		b.line("  there is no %s rule on the way to it, so nobody may", ruleFor(q))
	}
	_, err := io.WriteString(w, b.text.String())
	return err
}

// A block is a text that grows by lines. line is the only way to add one, so that each is
// counted and escaped: what is passed to it may come from a client.
type block struct {
	o     Options
	text  strings.Builder
	lines int                  // written
	shown map[*rules.Rule]bool // whose source was drawn
}

func (b *block) line(format string, args ...any) {
	b.lines++
	switch {
	case b.o.Lines == 0 || b.lines < b.o.Lines:
		b.text.WriteString(escape(strings.TrimRight(fmt.Sprintf(format, args...), " ")) + "\n")
	case b.lines == b.o.Lines:
		b.text.WriteString("  …\n")
	}
}

// head says what was asked, and by whom.
func (b *block) head(q *rules.Request, t *rules.Trace) {
	b.line("%s  %s  as %s", verdict(t.Decision), Operation(q), caller(q.Auth))
	if !b.o.Values {
		return
	}
	for i, w := range q.Writes {
		if i == maxWrites {
			b.line("  … %d writes in all", len(q.Writes))
			break
		}
		value := "(not read: no rule can allow a write here)"
		if !q.Unread {
			value = shorten(w.Node.JSON(), maxValue)
		}
		if name := q.FollowsFrom(i); name != "" {
			value += "   (follows by " + shorten(name, maxName) + ")"
		}
		b.line("  %s = %s", w.Target, value)
	}
}

func verdict(d rules.Decision) string {
	if d.Allow {
		return "allowed"
	}
	return "denied"
}

// Operation names a request's operation: "read /rooms/r1", "write /a and 3 more".
func Operation(q *rules.Request) string { return escape(operation(q)) }

func operation(q *rules.Request) string {
	if q.Op == rules.OpRead {
		if q.Plain || q.Query.IsAll() {
			return "read " + q.Path.String()
		}
		return "query " + q.Path.String()
	}
	switch len(q.Writes) {
	case 0:
		return "write nothing"
	case 1:
		return "write " + q.Writes[0].Target.String()
	}
	return fmt.Sprintf("write %s and %d more", q.Writes[0].Target, len(q.Writes)-1)
}

func ruleFor(q *rules.Request) rules.Kind {
	if q.Op == rules.OpRead {
		return rules.ReadRule
	}
	return rules.WriteRule
}

// caller says who asked. The claims of a token may be long, the uid is enough.
func caller(a rules.Auth) string {
	switch {
	case a.IsNull():
		return "nobody (signed out)"
	case a.UID != "":
		return fmt.Sprintf("%q", cut(a.UID, maxAuth))
	}
	return shorten(a.JSON, maxAuth)
}

// step tells about one rule.
func (b *block) step(s *rules.Step, decided bool) {
	mark := " "
	if decided {
		mark = "→"
	}
	at := ""
	if len(s.Captures) > 0 {
		at = "   at " + shorten(s.Path.String(), maxValue)
	}
	b.line("%s %-7s  %s   %s%s", mark, s.Outcome, s.Rule.Path, b.place(s.Rule.Pos), at)
	if s.Outcome == rules.Skipped {
		if s.Why != "" {
			b.line("%s%s", margin, s.Why)
		}
		return
	}
	// Without values the source is drawn once: a rule may be asked for each path of an update.
	if _, literal := s.Rule.Expr.(*lang.Literal); !literal && (b.o.Values || !b.shown[s.Rule]) {
		b.source(s)
		b.shown[s.Rule] = true
	}
	if s.Why != "" && !(b.o.Values && slices.ContainsFunc(s.Values, func(v rules.Value) bool { return v.Failed })) {
		b.line("%s%s", margin, shorten(s.Why, maxValue))
	}
}

// margin is where what belongs to a rule begins.
const margin = "           "

// place returns a position, with the file if it is known.
func (b *block) place(at rules.Pos) string {
	if b.o.File == "" {
		return at.String()
	}
	return b.o.File + ":" + at.String()
}

// source draws a rule's source with values below it.
func (b *block) source(s *rules.Step) {
	d := drawing{source: s.Rule.Source}
	if b.o.Values {
		d.add(s.Values)
	}
	for _, line := range d.lines() {
		b.line("%s%s", margin, line)
	}
}
