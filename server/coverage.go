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
// there were no such thing. The report quotes rules and no data, so in dev mode
// it is open as the rules themselves are.
func (q *request) openCoverage() error {
	if q.s.opts.Decisions.Coverage {
		return q.openDatabase()
	}
	if err := q.openAdmin(); err != nil {
		return err
	}
	return errNotFound
}

func (q *request) coverage() rules.CoverageReport {
	return q.space.decisions.CoverageOf(q.db.Rules())
}

// getCoverageJSON answers with the report: GET /.inspect/coverage.json
func getCoverageJSON(q *request) (answer, error) {
	return q.encode(q.coverage())
}

// getCoverage answers with the report as a page: GET /.inspect/coverage
func getCoverage(q *request) (answer, error) {
	var page bytes.Buffer
	if err := coverage.WriteHTML(&page, coverage.Document{Name: q.ns, Report: q.coverage()}); err != nil {
		return answer{}, fmt.Errorf("coverage page: %w", err)
	}
	return answer{status: http.StatusOK, kind: typePage, body: page.Bytes()}, nil
}
