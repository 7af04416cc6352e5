package rulestest

import (
	"fmt"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/explain"
)

// A Status is how a step ended.
type Status string

// The ends of a step.
const (
	Passed  Status = "pass"
	Failed  Status = "fail"
	Skipped Status = "skip"
)

// A Result is what came of one step.
type Result struct {
	Suite    *Suite
	Group    *Group
	Step     *Step
	Status   Status
	Problems []string // how it differs from what was expected
	Got      Verdict
	Rule     string       // that decided
	Trace    *rules.Trace // nil where no rule was asked
	Repro    string       // a command that decides the operation again
	Elapsed  time.Duration

	request *rules.Request // that was decided last
}

// Name returns the group and the name of the step.
func (r *Result) Name() string {
	if r.Group.Name == "" {
		return r.Step.Name
	}
	return r.Group.Name + " / " + r.Step.Name
}

// Where returns the place of the step in its file.
func (r *Result) Where() string { return fmt.Sprintf("%s:%d", r.Suite.File, r.Step.Line) }

// fail adds a problem. A step goes on after one, so that a report shows all.
func (r *Result) fail(format string, args ...any) {
	r.Status = Failed
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// A Summary counts results.
type Summary struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// Summarize counts results.
func Summarize(results []*Result) Summary {
	var s Summary
	for _, r := range results {
		switch r.Status {
		case Passed:
			s.Passed++
		case Failed:
			s.Failed++
		case Skipped:
			s.Skipped++
		}
	}
	return s
}

// String returns the counts in words: "12 passed, 1 failed".
func (s Summary) String() string {
	text := fmt.Sprintf("%d passed, %d failed", s.Passed, s.Failed)
	if s.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", s.Skipped)
	}
	return text
}

// ReasonOf returns why a trace denies: the rule that decided says it.
func ReasonOf(t *rules.Trace) Reason {
	s := t.Deciding()
	switch {
	case t.Excess != nil:
		return Unbounded
	case t.Kept != "":
		return Kept
	case s == nil:
		return NoGrant
	case s.Outcome == rules.Failed:
		return RunError
	case s.Rule.Kind == rules.ValidateRule:
		return Invalid
	}
	return NoGrant
}

// fits reports whether a denial with a given trace is of the expected reason. A
// rule that cannot be evaluated is also one that does not grant or is not true.
func (r Reason) fits(t *rules.Trace) bool {
	s := t.Deciding()
	if r == RunError || s == nil {
		return r == ReasonOf(t)
	}
	return (r == Invalid) == (s.Rule.Kind == rules.ValidateRule)
}

// deciding says in a line which rule decided and where it stands.
func deciding(r *Result) string {
	if r.Trace == nil {
		return ""
	}
	return explain.Brief(r.request, r.Trace)
}

// byFile divides results by their suites, in order.
func byFile(results []*Result) [][]*Result {
	var list [][]*Result
	for i, r := range results {
		if i == 0 || results[i-1].Suite != r.Suite {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], r)
	}
	return list
}

// elapsed returns how long the steps took together.
func elapsed(results []*Result) time.Duration {
	var sum time.Duration
	for _, r := range results {
		sum += r.Elapsed
	}
	return sum
}
