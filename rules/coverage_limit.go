package rules

import (
	"fmt"
	"strconv"
)

// A limitCount is how often a read kept to a .limit, and how often one did not.
type limitCount struct {
	limit          *Limit
	kept, exceeded int
}

// CountLimits makes c count what became of each .limit of r too. It is for decisions
// about requests that have Children; others compare nothing with a limit.
func (c *Coverage) CountLimits(r *Ruleset) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range r.limits {
		c.limits = append(c.limits, &limitCount{limit: l})
	}
}

// compared counts the limits that a decision came by. The one that was exceeded is
// among them.
func (c *Coverage) compared(t *Trace) {
	for _, l := range t.Limits {
		for _, n := range c.limits {
			switch {
			case n.limit != l:
			case t.Excess != nil && t.Excess.Limit == l:
				n.exceeded++
			default:
				n.kept++
			}
		}
	}
}

// report returns a limit as a rule of one condition.
func (n *limitCount) report() RuleCoverage {
	source := strconv.Itoa(n.limit.Max)
	counts := Counts{True: n.kept, False: n.exceeded, Samples: []string{}}
	return RuleCoverage{
		Path: n.limit.Path, Kind: ".limit", Source: source,
		Line: n.limit.Pos.Line, Column: n.limit.Pos.Col,
		Counts: counts,
		Expressions: []ExprCoverage{{
			To: len(source), Line: n.limit.Pos.Line, Column: n.limit.Pos.Col,
			Text: fmt.Sprintf("no more than %d children", n.limit.Max), Counts: counts,
		}},
	}
}
