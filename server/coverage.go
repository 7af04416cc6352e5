package server

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/coverage"
)

// A rulesCoverage is what has been seen of one namespace's rules since they are in
// force. The zero one works.
type rulesCoverage struct {
	mu   sync.Mutex
	of   *rules.Ruleset
	late *rules.Ruleset // those before: decisions that began under them are too late
	seen *rules.Coverage
}

// add counts a decision. New rules begin with nothing seen.
func (c *rulesCoverage) add(rs *rules.Ruleset, t *rules.Trace) {
	if seen := c.track(rs); seen != nil {
		seen.Add(t)
	}
}

func (c *rulesCoverage) track(rs *rules.Ruleset) *rules.Coverage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if rs == c.late {
		return nil
	}
	c.switchTo(rs)
	return c.seen
}

// report returns what has been seen of the rules in force.
func (c *rulesCoverage) report(inForce *rules.Ruleset) rules.CoverageReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.switchTo(inForce)
	return c.seen.Report()
}

func (c *rulesCoverage) switchTo(rs *rules.Ruleset) {
	if rs != c.of {
		c.late, c.of, c.seen = c.of, rs, rules.NewCoverage(rs)
	}
}

// openCoverage is open for reports about rules, which anybody may see in dev
// mode, as with the emulator (REST §13). Servers that do not count answer as if
// there were no such thing.
func (q *request) openCoverage() (rules.CoverageReport, error) {
	if !q.s.opts.Decisions.Coverage {
		_, err := q.s.notFound(q)
		return rules.CoverageReport{}, err
	}
	if err := q.openDatabase(); err != nil {
		return rules.CoverageReport{}, err
	}
	return q.space.decisions.coverage.report(q.db.Rules()), nil
}

// getCoverageJSON answers with the report: GET /.inspect/coverage.json
func (s *Server) getCoverageJSON(q *request) (answer, error) {
	report, err := q.openCoverage()
	if err != nil {
		return answer{}, err
	}
	return q.encode(report)
}

// getCoverage answers with the report as a page: GET /.inspect/coverage
func (s *Server) getCoverage(q *request) (answer, error) {
	report, err := q.openCoverage()
	if err != nil {
		return answer{}, err
	}
	var page bytes.Buffer
	if err := coverage.WriteHTML(&page, coverage.Document{Name: q.ns, Report: report}); err != nil {
		return answer{}, fmt.Errorf("coverage page: %w", err)
	}
	return answer{status: http.StatusOK, kind: typePage, body: page.Bytes()}, nil
}
