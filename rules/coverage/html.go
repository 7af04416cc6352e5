// Package coverage shows which parts of rules decisions have reached: as a page
// of HTML, and as text for a terminal. It formats what rules.Coverage counted.
package coverage

import (
	_ "embed"
	"fmt"
	"html"
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

// WriteHTML writes a page that shows each rule with its sub-expressions marked:
// those that were true and false, only one of them, never evaluated, or failed.
// The page needs nothing else: no script, no style sheet, no image.
//
// It is put together by hand: html/template would add 500 KB to the program. Names, paths and
// expressions are text of a client, so all of them are escaped.
func WriteHTML(w io.Writer, documents ...Document) error {
	before, after, _ := strings.Cut(pageText, "{{documents}}")
	var b strings.Builder
	b.WriteString(before)
	for _, d := range documents {
		writeDocument(&b, d)
	}
	b.WriteString(after)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("coverage page: %w", err)
	}
	return nil
}

func writeDocument(b *strings.Builder, d Document) {
	fmt.Fprintf(b, "<section>\n<h2>%s</h2>\n", html.EscapeString(d.Name))
	fmt.Fprintf(b, "<p class=\"sum\">%.1f %% of the rules were evaluated, %.1f %% of the outcomes seen.</p>\n", d.Report.Evaluated, d.Report.Outcomes)
	for _, r := range d.Report.Rules {
		writeRule(b, r)
	}
	b.WriteString("</section>\n")
}

func writeRule(b *strings.Builder, r rules.RuleCoverage) {
	class := ""
	if isWhole(r) {
		class = "whole"
	}
	fmt.Fprintf(b, "<article class=%q>\n", class)
	fmt.Fprintf(b, "<h3>%s <span class=\"dim\">of</span> %s <span class=\"dim\">line %d</span></h3>\n", html.EscapeString(r.Kind), html.EscapeString(node(r.Path)), r.Line)
	fmt.Fprintf(b, "<pre>%s</pre>\n<p class=\"dim\">true %d · false %d · error %d · not asked %d</p>\n", markup(r), r.True, r.False, r.Error, r.Skipped)
	if len(r.Expressions) > 0 {
		fmt.Fprintf(b, "<details><summary>%d expressions</summary>\n", len(r.Expressions))
		b.WriteString("<table><tr><th>expression</th><th>true</th><th>false</th><th>error</th><th>values</th></tr>\n")
		for _, x := range r.Expressions {
			fmt.Fprintf(b, "<tr><td><code class=\"key %s\">%s</code></td>", stateOf(x.Counts), html.EscapeString(x.Text))
			fmt.Fprintf(b, "<td class=\"n\">%d</td><td class=\"n\">%d</td><td class=\"n\">%d</td>", x.True, x.False, x.Error)
			fmt.Fprintf(b, "<td>%s</td></tr>\n", html.EscapeString(strings.Join(x.Samples, " · ")))
		}
		b.WriteString("</table></details>\n")
	}
	b.WriteString("</article>\n")
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
