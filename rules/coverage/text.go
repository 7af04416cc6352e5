package coverage

import (
	"fmt"
	"io"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
)

// WriteText writes the percentages of a document, and what of it was not seen: a
// line for each rule and each boolean expression.
func WriteText(w io.Writer, d Document) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %.1f %% of the rules evaluated, %.1f %% of the outcomes seen\n", d.Name, d.Report.Evaluated, d.Report.Outcomes)
	for _, r := range d.Report.Rules {
		if isWhole(r) {
			continue
		}
		if r.Never() {
			fmt.Fprintf(&b, "  %s:%d:%d: %s never evaluated\n", d.Name, r.Line, r.Column, r.Path)
			continue
		}
		for _, x := range r.Expressions {
			if gap := gap(x.Counts); gap != "" {
				fmt.Fprintf(&b, "  %s:%d:%d: %s: %s: %s\n", d.Name, x.Line, x.Column, r.Path, gap, x.Text)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// gap says which outcome of an expression was not seen.
func gap(c rules.Counts) string {
	switch stateOf(c) {
	case both:
		return ""
	case trues:
		return "never false"
	case falses:
		return "never true"
	case fails:
		switch {
		case c.True > 0:
			return "never false, but failed"
		case c.False > 0:
			return "never true, but failed"
		}
		return "only failed"
	}
	return "never evaluated"
}
