package rules

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/dogwooddb/dogwood/rules/internal/eval"
	"github.com/dogwooddb/dogwood/rules/lang"
)

// maxSamples is how many different values a coverage keeps of an expression.
const maxSamples = 5

// A Coverage counts what became of each rule, and of each boolean expression in
// it, in the decisions that are added to it. Several goroutines may use one.
type Coverage struct {
	mu    sync.Mutex // guards all counts
	rules []*ruleCount
	index map[*Rule]*ruleCount

	limits []*limitCount // empty without CountLimits

	parts    map[lang.Expr]*count // of each boolean expression
	operands map[lang.Expr]*count // of the boolean expression that x is an operand of
}

// A ruleCount is what is known of one rule.
type ruleCount struct {
	rule *Rule
	count
	skipped int
	parts   []*count // its boolean expressions, in the order of the text
}

// A count is what an expression was, and how often.
type count struct {
	expr                  lang.Expr
	trues, falses, errors int
	samples               []string
}

// NewCoverage returns a coverage of the rules of r, in which nothing has been
// evaluated yet.
func NewCoverage(r *Ruleset) *Coverage {
	c := &Coverage{
		index:    make(map[*Rule]*ruleCount),
		parts:    make(map[lang.Expr]*count),
		operands: make(map[lang.Expr]*count),
	}
	for rule := range r.Rules() {
		rc := &ruleCount{rule: rule, count: count{expr: rule.Expr}}
		c.rules = append(c.rules, rc)
		c.index[rule] = rc
		for _, x := range booleans(rule.Expr) {
			part := &count{expr: x}
			rc.parts = append(rc.parts, part)
			c.parts[x] = part
			for _, operand := range operands(x) {
				c.operands[operand] = part
			}
		}
	}
	return c
}

// booleans returns the boolean expressions in x that can have different values.
func booleans(x lang.Expr) (list []lang.Expr) {
	lang.Walk(x, func(x lang.Expr) bool {
		if x.Type() == lang.Boolean && eval.IsTelling(x) {
			list = append(list, x)
		}
		return true
	})
	return list
}

// Add counts a decision of Explain. Rules of another Ruleset are ignored.
func (c *Coverage) Add(t *Trace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range t.Steps {
		c.step(&t.Steps[i])
	}
	c.compared(t)
}

// step counts a rule that was asked or skipped, and the parts that were evaluated.
func (c *Coverage) step(s *Step) {
	rule := c.index[s.Rule]
	if rule == nil {
		return
	}
	switch s.Outcome {
	case True:
		rule.trues++
	case False:
		rule.falses++
	case Failed:
		rule.errors++
		rule.sample(s.Why)
	case Skipped:
		rule.skipped++
	}
	for _, v := range s.Values {
		if part := c.parts[v.Expr]; part != nil {
			part.value(v)
		}
		if part := c.operands[v.Expr]; part != nil {
			part.sample(v.Text)
		}
	}
}

// operands returns the expressions that the value of x is computed from, unless
// they are booleans, which are counted themselves.
func operands(x lang.Expr) (list []lang.Expr) {
	switch x := x.(type) {
	case *lang.Binary:
		list = []lang.Expr{x.X, x.Y}
	case *lang.Call:
		list = append(list, x.Fun.(*lang.Member).X)
		list = append(list, x.Args...)
	}
	return slices.DeleteFunc(list, func(x lang.Expr) bool { return x.Type() == lang.Boolean })
}

// value counts what a boolean expression was.
func (n *count) value(v Value) {
	switch {
	case v.Failed:
		n.errors++
		n.sample(v.Text)
	case v.Text == "true":
		n.trues++
	default:
		n.falses++
	}
}

// sample keeps the text of a value, unless there are enough or it is there.
func (n *count) sample(text string) {
	if len(n.samples) < maxSamples && !slices.Contains(n.samples, text) {
		n.samples = append(n.samples, text)
	}
}

// A CoverageReport is what a Coverage has counted.
type CoverageReport struct {
	Rules []RuleCoverage `json:"rules"` // in the order of the document, those of CountLimits last

	// Evaluated is the percentage of rules that were evaluated at least once.
	Evaluated float64 `json:"evaluatedPercent"`

	// Outcomes is the percentage of outcomes that were seen: of every rule and
	// every boolean expression in it there are two, true and false. A rule that is
	// constant has only that one.
	Outcomes float64 `json:"outcomesPercent"`
}

// A RuleCoverage is what was counted of one rule.
type RuleCoverage struct {
	Path   string `json:"path"` // "/rooms/$room/.read"
	Kind   string `json:"kind"` // ".read", or ".limit"
	Line   int    `json:"line"` // of the rule's value in the document
	Column int    `json:"column"`
	Source string `json:"source"`
	Counts
	Skipped     int            `json:"skipped"` // how often it was not asked on the way to a decision
	Expressions []ExprCoverage `json:"expressions"`
}

// An ExprCoverage is what was counted of a boolean expression in a rule.
type ExprCoverage struct {
	From   int    `json:"from"` // bytes of the rule's source
	To     int    `json:"to"`
	Line   int    `json:"line"` // in the document
	Column int    `json:"column"`
	Text   string `json:"text"` // the expression in canonical form
	Counts
}

// Counts are how often an expression had each outcome.
type Counts struct {
	True    int      `json:"true"`
	False   int      `json:"false"`
	Error   int      `json:"error"`
	Samples []string `json:"samples"` // some values that it was computed from, and errors
}

// Never reports whether it was never evaluated.
func (n Counts) Never() bool { return n.True+n.False+n.Error == 0 }

// seen counts the outcomes that were seen.
func (n Counts) seen() int { return min(n.True, 1) + min(n.False, 1) }

// Report returns what was counted so far.
func (c *Coverage) Report() CoverageReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := CoverageReport{Rules: make([]RuleCoverage, 0, len(c.rules)+len(c.limits))}
	for _, rule := range c.rules {
		r.Rules = append(r.Rules, rule.report())
	}
	for _, limit := range c.limits {
		r.Rules = append(r.Rules, limit.report())
	}
	r.sumUp()
	return r
}

// sumUp computes the percentages from the rules.
func (r *CoverageReport) sumUp() {
	evaluated, seen, possible := 0, 0, 0
	for _, rc := range r.Rules {
		if !rc.Never() {
			evaluated++
		}
		for _, x := range rc.Expressions {
			seen, possible = seen+x.seen(), possible+2
		}
		if len(rc.Expressions) == 0 {
			seen, possible = seen+rc.seen(), possible+1
		}
	}
	r.Evaluated, r.Outcomes = percent(evaluated, len(r.Rules)), percent(seen, possible)
}

// report returns the counts of a rule and its parts.
func (n *ruleCount) report() RuleCoverage {
	rule := n.rule
	rc := RuleCoverage{
		Path: rule.Path, Kind: rule.Kind.String(), Source: rule.Source,
		Line: rule.Pos.Line, Column: rule.Pos.Col,
		Counts: n.counts(), Skipped: n.skipped,
		Expressions: make([]ExprCoverage, 0, len(n.parts)),
	}
	for _, part := range n.parts {
		from, to := part.expr.Span()
		at := rule.At(from)
		rc.Expressions = append(rc.Expressions, ExprCoverage{
			From: from, To: to, Line: at.Line, Column: at.Col,
			Text: part.expr.String(), Counts: part.counts(),
		})
	}
	return rc
}

// counts returns a copy that later decisions do not change.
func (n *count) counts() Counts {
	return Counts{n.trues, n.falses, n.errors, append([]string{}, n.samples...)}
}

// percent is 100 if there is nothing to cover.
func percent(n, of int) float64 {
	if of == 0 {
		return 100
	}
	return 100 * float64(n) / float64(of)
}

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

// compared counts the limits that a decision compared, the exceeded one included.
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
