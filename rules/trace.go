package rules

import "github.com/dogwooddb/dogwood/tree"

// An Outcome is what became of one rule on the way to a decision.
type Outcome int

// The outcomes.
const (
	False   Outcome = iota
	True            //
	Failed          // evaluating it failed, which counts as false
	Skipped         // not evaluated: access was already granted, or there is nothing to validate
)

// String returns "false", "true", "error" or "skipped".
func (o Outcome) String() string { return [...]string{"false", "true", "error", "skipped"}[o] }

// A Trace tells how a request was decided.
type Trace struct {
	Decision
	Steps []Step // the rules on the way, in the order in which they were asked

	// Of a read that the rules allow, if it has Request.Children:
	Limits []*Limit // that were compared, each once
	Excess *Excess  // for which it is denied after all; nil: none
}

// Deciding returns the step that decided, nil if no rule did or its step was not noted.
// It is the first that granted, since what comes after it is asked for the trace alone,
// and the last that denied.
func (t *Trace) Deciding() *Step {
	var decided *Step
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Rule.Path == t.Rule && s.Outcome != Skipped && (s.Outcome == True) == t.Allow {
			if decided = s; t.Allow {
				break
			}
		}
	}
	return decided
}

// A Step is one rule that a decision came by.
type Step struct {
	Rule     *Rule
	Target   int               // index in Request.Writes of the write decided, of Request.Of; 0 for a read
	Path     tree.Path         // of the node that matched
	Captures map[string]string // "$room" → the key
	Outcome  Outcome
	Why      string  // for Failed and Skipped: the reason, in plain words
	Values   []Value // of the sub-expressions evaluated, in that order
}

// A Value is what a sub-expression evaluated to.
type Value struct {
	Expr   Expr
	Text   string // JSON; of a snapshot its path and value, shortened
	Failed bool   // its evaluation failed; Text says why
}
