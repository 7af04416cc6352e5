package server

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/coverage"
)

// openCoverage is open for reports about rules, which anybody may see in dev
// mode, as with the emulator (REST §13). Servers that do not count answer as if
// there were no such thing.
func openCoverage(q *request) (rules.CoverageReport, error) {
	if !q.s.opts.Decisions.Coverage {
		_, err := notFound(q)
		return rules.CoverageReport{}, err
	}
	if err := q.openDatabase(); err != nil {
		return rules.CoverageReport{}, err
	}
	return q.space.decisions.CoverageOf(q.db.Rules()), nil
}

// getCoverageJSON answers with the report: GET /.inspect/coverage.json
func getCoverageJSON(q *request) (answer, error) {
	report, err := openCoverage(q)
	if err != nil {
		return answer{}, err
	}
	return q.encode(report)
}

// getCoverage answers with the report as a page: GET /.inspect/coverage
func getCoverage(q *request) (answer, error) {
	report, err := openCoverage(q)
	if err != nil {
		return answer{}, err
	}
	var page bytes.Buffer
	if err := coverage.WriteHTML(&page, coverage.Document{Name: q.ns, Report: report}); err != nil {
		return answer{}, fmt.Errorf("coverage page: %w", err)
	}
	return answer{status: http.StatusOK, kind: typePage, body: page.Bytes()}, nil
}
