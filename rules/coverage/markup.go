package coverage

import (
	"fmt"
	"html"
	"slices"
	"sort"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
)

// markup returns the source of a rule with an element around each boolean
// sub-expression. Their spans are nested, as the expressions are.
func markup(r rules.RuleCoverage) string {
	if len(r.Expressions) == 0 {
		return fmt.Sprintf(`<span class="x leaf %s">%s</span>`, stateOf(r.Counts), html.EscapeString(r.Source))
	}
	m := marker{src: r.Source, list: slices.Clone(r.Expressions)}
	sort.SliceStable(m.list, func(i, j int) bool {
		a, b := m.list[i], m.list[j]
		return a.From < b.From || a.From == b.From && a.To > b.To // the outer one first
	})
	m.until(len(r.Source))
	m.text(len(r.Source))
	return m.out.String()
}

// A marker writes the source from left to right. Everything that is not an
// element of its own is escaped, since rules are text of a client.
type marker struct {
	src  string
	list []rules.ExprCoverage // those to come
	at   int                  // bytes of src that are written
	out  strings.Builder
}

// until writes the expressions that end at end or before.
func (m *marker) until(end int) {
	for len(m.list) > 0 && m.list[0].To <= end && m.list[0].From >= m.at {
		x := m.list[0]
		m.list = m.list[1:]
		m.text(x.From)
		class := "part"
		if len(m.list) == 0 || m.list[0].From >= x.To {
			class = "leaf"
		}
		fmt.Fprintf(&m.out, `<span class="x %s %s" title="true %d, false %d, error %d">`, class, stateOf(x.Counts), x.True, x.False, x.Error)
		m.until(x.To)
		m.text(x.To)
		m.out.WriteString("</span>")
	}
}

// text writes the source up to a byte.
func (m *marker) text(to int) {
	if to > m.at {
		m.out.WriteString(html.EscapeString(m.src[m.at:to]))
		m.at = to
	}
}
