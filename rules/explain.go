package rules

import (
	"context"

	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// Reasons for which a rule is not asked.
const (
	whyGranted = "access was already granted"
	whyNothing = "there is nothing to validate"
)

const (
	// maxSteps bounds a trace. What comes after is decided as Check does.
	maxSteps = 10_000

	// maxValues bounds the values in all steps of a trace.
	maxValues = 200_000
)

// Explain decides a request as Check does and tells how. It doesn't end at the
// rule that decides: rules are asked if they concern the request at all, except
// those of the targets of a write that come after one that is denied. Each is evaluated once more
// node by node, so Explain is slower than Check, and for tools.
func (r *Ruleset) Explain(ctx context.Context, q *Request) (*Trace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := new(tracer)
	t.begin(q)
	d := newDecider(ctx, q)
	defer d.end()
	d.tracer = t
	decision, err := d.decide(r.root)
	if err != nil {
		return nil, err
	}
	trace := &Trace{Decision: decision, Steps: t.steps}
	return trace, r.bound(q, trace)
}

// A tracer notes the steps of a decision.
type tracer struct {
	e      evaluation // that of the decision takes no part in what is only shown
	steps  []Step
	values int // in all steps
}

func (t *tracer) begin(q *Request) {
	t.e.begin(q)
	t.e.noting = false
}

// full reports whether there is room for no more steps.
func (t *tracer) full() bool { return len(t.steps) >= maxSteps }

// ask asks a rule at p and notes what comes of it: whether it holds is what its
// program says, and the values are those of its parts.
func (t *tracer) ask(d *decider, r *rule, p tree.Path) bool {
	e := d.evaluation()
	e.start(p)
	holds := r.always
	if r.program != nil {
		holds = e.holds(r, p)
	}
	s := t.step(d, r, p)
	switch {
	case e.faulty:
		s.Outcome, s.Why = Failed, e.failure.String()
	case holds:
		s.Outcome = True
	}
	if !e.faulty || e.failure.reason != msgTooMany {
		t.show(&s, r)
		e.old.failed(t.e.old.err)
	}
	t.steps = append(t.steps, s)
	return holds
}

// show notes the values of a rule's parts. Of a fault it tells where it is.
func (t *tracer) show(s *Step, r *rule) {
	if t.values == maxValues {
		return
	}
	t.e.noter = func(x lang.Expr, text string, failed bool) {
		if t.values < maxValues {
			t.values++
			s.Values = append(s.Values, Value{x, text, failed})
		}
	}
	t.e.start(s.Path)
	t.e.run(r.noting())
	if s.Outcome == Failed && t.e.faulty {
		s.Why = t.e.failure.String()
	}
}

func (t *tracer) skip(d *decider, r *rule, p tree.Path, why string) {
	s := t.step(d, r, p)
	s.Outcome, s.Why = Skipped, why
	t.steps = append(t.steps, s)
}

func (t *tracer) step(d *decider, r *rule, p tree.Path) Step {
	s := Step{Rule: &r.Rule, Target: d.target, Path: p}
	e := &t.e
	e.at = p
	for name, depth := range r.depths {
		if s.Captures == nil {
			s.Captures = make(map[string]string)
		}
		s.Captures[name] = e.capture(depth)
	}
	return s
}

// note passes the value of x to the noter: of a fault only where it was, which is the
// innermost part that it is known in.
func (e *evaluation) note(x lang.Expr, v any) {
	switch {
	case !e.faulty:
		e.noter(x, e.shown(v), false)
	case !e.blamed:
		e.blamed = true
		e.noter(x, e.failure.String(), true)
	}
}

// shown returns a value as JSON, and a snapshot as its path and value.
func (e *evaluation) shown(v any) string {
	s, ok := v.(*snapshot)
	switch {
	case !ok:
		return textOf(v)
	case s.none:
		return "null"
	}
	v = e.value(*s)
	if e.faulty { // too much was shown already, which is no fault of the rule
		e.faulty, e.failure = false, failure{}
		return s.path.String()
	}
	return s.path.String() + " " + textOf(v)
}
