package rules

import (
	"github.com/dogwooddb/dogwood/rules/internal/eval"
	"github.com/dogwooddb/dogwood/rules/lang"
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

// A tracer notes the steps of a decision. What it shows it evaluates apart from the
// decision: printing the value of a snapshot reads what the rule itself does not.
type tracer struct {
	e      eval.Evaluation // showing values must not spend the budget of the decision
	steps  []Step
	values int // in all steps
}

// full reports whether the trace has all the steps that it may have.
func (t *tracer) full() bool { return len(t.steps) >= maxSteps }

// ask asks a rule at p and notes what comes of it. The program that decides says
// whether the rule holds, and the noting one the values of its parts.
func (t *tracer) ask(e *eval.Evaluation, r *rule, s Step) bool {
	holds := r.always
	fault := ""
	if r.program != nil {
		holds = e.Holds(r.program, s.Path)
		fault = e.Fault()
	}
	switch {
	case fault != "":
		s.Outcome, s.Why = Failed, fault
	case holds:
		s.Outcome = True
	}
	if fault == "" || !e.Exhausted() {
		t.show(&s, r)
		e.Old.Failed(t.e.Old.Err)
	}
	t.steps = append(t.steps, s)
	return holds
}

// show notes the values of a rule's parts. The reason of a fault becomes that of
// the part where it is, which tells more: which operand of a sum is at fault.
func (t *tracer) show(s *Step, r *rule) {
	noting := r.noting()
	if t.values == maxValues || noting == nil {
		return
	}
	t.e.Explain(noting, s.Path, func(x lang.Expr, text string, failed bool) {
		if t.values < maxValues {
			t.values++
			s.Values = append(s.Values, Value{x, text, failed})
		}
	})
	if fault := t.e.Fault(); s.Outcome == Failed && fault != "" {
		s.Why = fault
	}
}
