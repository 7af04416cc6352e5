package observe

import (
	"sync"

	"github.com/dogwooddb/dogwood/rules"
)

// A coverage is what has been seen of one namespace's rules since they are in
// force. The zero one works. It is replaced as a whole when other rules come
// into force, since counts of old rules say nothing about new ones.
type coverage struct {
	mu   sync.Mutex
	of   *rules.Ruleset
	late *rules.Ruleset // those before: decisions that began under them are too late
	seen *rules.Coverage
}

// add counts a decision. New rules begin with nothing seen.
func (c *coverage) add(rs *rules.Ruleset, t *rules.Trace) {
	if seen := c.track(rs); seen != nil {
		seen.Add(t)
	}
}

func (c *coverage) track(rs *rules.Ruleset) *rules.Coverage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if rs == c.late {
		return nil
	}
	c.switchTo(rs)
	return c.seen
}

// report returns what has been seen of the rules in force.
func (c *coverage) report(inForce *rules.Ruleset) rules.CoverageReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.switchTo(inForce)
	return c.seen.Report()
}

func (c *coverage) switchTo(rs *rules.Ruleset) {
	if rs != c.of {
		c.late, c.of, c.seen = c.of, rs, rules.NewCoverage(rs)
	}
}
