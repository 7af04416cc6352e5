// Package coverage shows which parts of rules decisions have reached: as a page
// of HTML, and as text for a terminal. It formats what rules.Coverage counted.
package coverage

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
)

// A Document is one rules document and what was counted of it.
type Document struct {
	Name   string // of its file or database
	Report rules.CoverageReport
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": func(p float64) string { return fmt.Sprintf("%.1f %%", p) },
	"samples": func(list []string) string { return strings.Join(list, " · ") },
	"state":   stateOf,
	"whole":   isWhole,
	"mark":    markup,
	"kind":    func(r rules.RuleCoverage) string { return r.Kind },
	"node":    func(r rules.RuleCoverage) string { return node(r.Path) },
}).Parse(pageText))

// WriteHTML writes a page that shows each rule with its sub-expressions marked:
// those that were true and false, only one of them, never evaluated, or failed.
// The page needs nothing else: no script, no style sheet, no image.
func WriteHTML(w io.Writer, documents ...Document) error {
	if err := page.Execute(w, documents); err != nil {
		return fmt.Errorf("coverage page: %w", err)
	}
	return nil
}

// node returns the path of the node that a rule is at.
func node(rule string) string {
	path := rule[:strings.LastIndexByte(rule, '/')]
	if path == "" {
		return "/"
	}
	return path
}

// A state says what was seen of an expression. A boolean expression that was
// only ever true is not covered: no test would notice if it were left out.
type state string

const (
	both   state = "both"  // true and false
	trues  state = "true"  // only true
	falses state = "false" // only false
	fails  state = "error" // it failed, and was never true or never false
	never  state = "never" // not evaluated
)

func stateOf(c rules.Counts) state {
	switch {
	case c.True > 0 && c.False > 0:
		return both
	case c.Error > 0:
		return fails
	case c.True > 0:
		return trues
	case c.False > 0:
		return falses
	}
	return never
}

// isWhole reports whether everything of a rule was seen. A rule that is plainly
// true or false has one outcome.
func isWhole(r rules.RuleCoverage) bool {
	if len(r.Expressions) == 0 {
		return !r.Never()
	}
	for _, x := range r.Expressions {
		if stateOf(x.Counts) != both {
			return false
		}
	}
	return true
}
