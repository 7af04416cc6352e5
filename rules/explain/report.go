package explain

import (
	"encoding/json"

	"github.com/dogwooddb/dogwood/rules"
)

// A Report is how a request was decided, for programs.
//
// Its fields and texts are an interface for programs: they may become more, and
// do not change their meaning. The page of the demo and the JSON of the command line have it.
// It leaves out no step and cuts no value: a Trace bounds both.
type Report struct {
	Operation string       `json:"operation"` // "read /rooms/r1"
	Allow     bool         `json:"allow"`
	Rule      string       `json:"rule,omitempty"` // that decided
	Reason    string       `json:"reason"`         // see Brief
	Steps     []StepReport `json:"steps"`
}

// A StepReport is one rule that was asked. Rule is its pattern and Path the node that matched:
// "/rooms/$room/.read" and "/rooms/r1". Source is the expression as the document has it, to
// which From and To of its values belong. Captures are those of Path.
type StepReport struct {
	Rule     string            `json:"rule"`
	Line     int               `json:"line"`
	Col      int               `json:"col"`
	Path     string            `json:"path"`
	Captures map[string]string `json:"captures,omitempty"`
	Source   string            `json:"source"`
	Outcome  string            `json:"outcome"`
	Why      string            `json:"why,omitempty"`
	Deciding bool              `json:"deciding,omitempty"`
	Values   []ValueReport     `json:"values,omitempty"`
}

// A ValueReport is what a part of a rule evaluated to. Its text is JSON, except
// for snapshots and errors.
type ValueReport struct {
	From   int    `json:"from"` // in the rule's source, in bytes
	To     int    `json:"to"`
	Value  string `json:"value"`
	Failed bool   `json:"failed,omitempty"`
}

// NewReport returns the report of a decision. Of the options, Values and
// Deciding count.
func NewReport(q *rules.Request, t *rules.Trace, o Options) Report {
	r := Report{Operation: Operation(q.Of(t.Decision)), Allow: t.Allow, Rule: t.Rule, Reason: Brief(q, t), Steps: []StepReport{}}
	decided := t.Deciding()
	for i := range t.Steps {
		if s := &t.Steps[i]; s == decided || !o.Deciding {
			r.Steps = append(r.Steps, newStepReport(s, s == decided, o.Values))
		}
	}
	return r
}

func newStepReport(s *rules.Step, decided, values bool) StepReport {
	r := StepReport{
		Rule:     s.Rule.Path,
		Line:     s.Rule.Pos.Line,
		Col:      s.Rule.Pos.Col,
		Path:     s.Path.String(),
		Captures: s.Captures,
		Source:   s.Rule.Source,
		Outcome:  s.Outcome.String(),
		Why:      s.Why,
		Deciding: decided,
	}
	if !values {
		return r
	}
	for _, v := range s.Values {
		from, to := v.Expr.Span()
		r.Values = append(r.Values, ValueReport{from, to, v.Text, v.Failed})
	}
	return r
}

// JSON returns the report as a line of JSON.
func (r Report) JSON() ([]byte, error) {
	text, err := json.Marshal(r)
	return append(text, '\n'), err
}
