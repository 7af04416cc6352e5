package observe

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/explain"
)

// Decisions say what is made of the decisions of rules, beside that they are
// enforced. Without Console, denied operations are logged, without values that
// rules looked at unless the log takes debug messages.
type Decisions struct {
	Console  io.Writer // gets an explanation of denied operations
	Tell     bool      // clients are told why they were denied, which says much about rules
	Coverage bool      // what rules were evaluated to is counted, and shown by /.inspect/coverage
	Record   *Recorder // keeps all decisions; the caller closes it

	// Hear is told how every decision came about. It is called by several goroutines
	// at once, for writes while others wait: it must not block, and not keep what it
	// is given. It may be nil.
	Hear func(namespace string, q *rules.Request, t *rules.Trace)

	// RulesName returns the name of the file that rules are from, "" if they are
	// from none. It may be nil.
	RulesName func(*rules.Ruleset) string
}

// A RulesObserver observes the decisions in one database (see sync.Observer).
//
// It is called while a decision is made, for writes by the committer. So Wants
// is asked before anything is computed, and says no for almost all decisions:
// an explanation runs a second, slower program of the rule.
type RulesObserver struct {
	Decisions
	ns      string
	log     *slog.Logger
	reports *Reporter // of the server
	seen    coverage
}

// NewRulesObserver returns the observer of a namespace. Reports go through reports, which
// all namespaces share.
func NewRulesObserver(d Decisions, ns string, log *slog.Logger, reports *Reporter) *RulesObserver {
	return &RulesObserver{Decisions: d, ns: ns, log: log, reports: reports}
}

// CoverageOf returns what has been seen of the rules in force.
func (w *RulesObserver) CoverageOf(inForce *rules.Ruleset) rules.CoverageReport {
	return w.seen.report(inForce)
}

// Wants implements sync.Observer.
func (w *RulesObserver) Wants(rs *rules.Ruleset, q *rules.Request, d rules.Decision) bool {
	if w.Record != nil {
		w.Record.add(w.ns, q, d)
	}
	if q.Paths() > MaxExplainedPaths {
		if !d.Allow && w.reporting() {
			w.reportBriefly(q, d)
		}
		return false
	}
	if w.counts(rs) || w.hears(rs) || !d.Allow && w.Tell {
		return true
	}
	return !d.Allow && w.reporting() && w.reports.canTake()
}

// counts reports whether coverage of rules is counted. There is nothing to learn
// about the rules of a server that was given none.
func (w *RulesObserver) counts(rs *rules.Ruleset) bool { return w.Coverage && rs.Enforced() }

func (w *RulesObserver) reporting() bool {
	return w.Console != nil || w.log.Enabled(context.Background(), slog.LevelInfo)
}

// hears reports whether Hear is told of the decisions of rules.
func (w *RulesObserver) hears(rs *rules.Ruleset) bool { return w.Hear != nil && rs.Enforced() }

// Decided implements sync.Observer.
func (w *RulesObserver) Decided(rs *rules.Ruleset, q *rules.Request, t *rules.Trace) (detail string) {
	if w.counts(rs) {
		w.seen.add(rs, t)
	}
	if w.hears(rs) {
		w.Hear(w.ns, q, t)
	}
	if t.Allow {
		return ""
	}
	if w.reporting() {
		w.report(rs, q, t)
	}
	if w.Tell {
		return explain.Brief(q, t)
	}
	return ""
}

// Bounds of one explanation on the console or in the log.
const (
	maxExplained   = 60 // lines
	MaxExplanation = 16 << 10
)

// MaxExplainedPaths bounds the updates that are explained. The committer explains,
// while all other writes wait: that an update of more paths is left out of the
// coverage, and that its client is not told why, is better than to stall them.
const MaxExplainedPaths = 100

// report makes a report of a denied operation. The request is only valid now, so
// the text is made at once; it is written later.
func (w *RulesObserver) report(rs *rules.Ruleset, q *rules.Request, t *rules.Trace) {
	if !w.reports.Take() {
		return
	}
	o := explain.Options{Values: true, Lines: maxExplained}
	if w.RulesName != nil {
		o.File = w.RulesName(rs)
	}
	if w.Console != nil {
		var b strings.Builder
		fmt.Fprintf(&b, "\n%s: ", w.ns)
		_ = explain.Text(&b, q, t, o) // a Builder takes everything
		text := clip(b.String(), MaxExplanation)
		w.reports.Add(func() { _, _ = io.WriteString(w.Console, strings.TrimSuffix(text, "\n")+"\n") })
		return
	}
	id := rand.Text()[:12]
	r := explain.NewReport(q, t, explain.Options{Deciding: true})
	outcome := "no rule"
	for _, s := range r.Steps {
		outcome = s.Outcome
	}
	args := []any{"decision", id, "namespace", w.ns, "operation", Clipped(r.Operation), "uid", Clipped(q.Auth.UID), "rule", Clipped(r.Rule), "outcome", outcome}
	args = append(args, originArgs(q.Origin)...)
	var full string
	if w.log.Enabled(context.Background(), slog.LevelDebug) {
		var b strings.Builder
		_ = explain.Text(&b, q, t, o)
		full = clip(b.String(), MaxExplanation)
	}
	w.reports.Add(func() {
		w.log.Info("operation denied", args...)
		if full != "" {
			w.log.Debug("operation denied because", "decision", id, "explanation", full)
		}
	})
}

// reportBriefly makes a report of a denied update of many paths, of nothing but
// the decision.
func (w *RulesObserver) reportBriefly(q *rules.Request, d rules.Decision) {
	if !w.reports.Take() {
		return
	}
	n, uid, rule := q.Paths(), Clipped(q.Auth.UID), Clipped(d.Rule)
	if w.Console != nil {
		text := fmt.Sprintf("\n%s: denied  update of %d paths  as %s\n  decided by %s; an update of more than %d paths is not explained\n",
			w.ns, n, pick(uid == "", "nobody", strconv.Quote(uid)), pick(rule == "", "no rule", explain.Escape(rule, "")), MaxExplainedPaths)
		w.reports.Add(func() { _, _ = io.WriteString(w.Console, text) })
		return
	}
	args := []any{"decision", rand.Text()[:12], "namespace", w.ns, "operation", "update", "paths", n, "uid", uid, "rule", rule}
	args = append(args, originArgs(q.Origin)...)
	w.reports.Add(func() { w.log.Info("operation denied", args...) })
}

// originArgs names what an operation came with in the log, as other lines about it do.
func originArgs(o *rules.Origin) []any {
	switch {
	case o == nil:
		return nil
	case o.Request != "":
		return []any{"request", o.Request}
	case o.Connection != "":
		return []any{"connection", o.Connection}
	}
	return nil
}

// LeftOut reports how many reports were left out.
func (o Decisions) LeftOut(log *slog.Logger, n int) {
	if o.Console != nil {
		fmt.Fprintf(o.Console, "\n… and %d more denied operations\n", n)
		return
	}
	log.Info("operations denied, not logged one by one", "count", n)
}
