package rulesmutate

import (
	"context"
	"fmt"
	"slices"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// A unit is a part of a suite that can be run alone, and the rules that it asks. It cannot tell
// mutants of other rules. Most tests ask a few of the rules, so a mutant is tried on a small part
// of them, which makes runs many times shorter. No kill is lost: a rule that was not asked has no
// part in the verdict, and neither has its mutant. A trace also has rules that would not be asked
// without it, so a unit may be tried in vain, but is never left out.
type unit struct {
	suite *rulestest.Suite
	asks  map[string]bool // by path
}

// divide divides suites into units and runs each without a mistake: all tests
// must pass.
func divide(ctx context.Context, src *rulestest.Source, suites []*rulestest.Suite) ([]unit, error) {
	rs, err := src.Compile()
	if err != nil {
		return nil, err
	}
	var units []unit
	for _, s := range suites {
		for _, g := range s.Groups {
			for _, part := range parts(g) {
				one := *s
				one.Groups = []*rulestest.Group{part}
				u := unit{&one, make(map[string]bool)}
				runner := &rulestest.Runner{Traced: func(t *rules.Trace) { addAsked(u.asks, t) }}
				results, err := runner.Run(ctx, u.suite, rs, nil)
				if err != nil {
					return nil, err
				}
				if failed := firstFailure(results); failed != "" {
					return nil, fmt.Errorf("the tests must pass before rules are mutated: %s fails", failed)
				}
				units = append(units, u)
			}
		}
	}
	return units, nil
}

// addAsked adds the paths of the rules of a trace.
func addAsked(asked map[string]bool, t *rules.Trace) {
	for i := range t.Steps {
		asked[t.Steps[i].Rule.Path] = true
	}
}

// parts divides a group whose steps leave nothing for each other. A step that commits, or that
// has a listener, does leave something: such a group stays whole.
func parts(g *rulestest.Group) []*rulestest.Group {
	if slices.ContainsFunc(g.Steps, func(s *rulestest.Step) bool { return s.Commit || s.Op.Listener != "" }) {
		return []*rulestest.Group{g}
	}
	var list []*rulestest.Group
	for _, s := range g.Steps {
		part := *g
		part.Steps = []*rulestest.Step{s}
		list = append(list, &part)
	}
	return list
}
