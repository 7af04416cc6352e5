package snapshot

import (
	"cmp"

	"github.com/dogwooddb/dogwood/rules/lang"
)

const (
	// MaxEvaluations bounds the expressions that are evaluated for one operation
	// (rules §5.9). One more decides against it.
	MaxEvaluations = 100_000

	// MaxSpent bounds the bytes of text that the expressions of one operation read
	// and scan. The committer evaluates rules while other writes wait, so it must
	// not take seconds. Reading and searching this much takes a fraction of one.
	MaxSpent = 64 << 20

	// matchCost is the price of a byte that a regular expression looks at, since it
	// is that much slower than a search. It leaves an operation 2 MiB to match.
	matchCost = 32

	// MaxMatchSteps bounds the steps of regular expressions of one operation, over
	// short texts too: a large expression takes a hundred microseconds for a
	// character. This many steps take about a tenth of a second.
	MaxMatchSteps = 12_000_000

	// FreeText is the length below which text costs nothing: it takes no longer
	// than the expression around it, and expressions are counted.
	FreeText = 256
)

// A Budget is what an operation has spent of its bounds. Once something was
// refused, everything that costs is refused. So a decision does not depend on
// which texts happen to be short enough for the rest.
type Budget struct {
	Count int // expressions that were evaluated
	Most  Bounds
	spent int // bytes of text
	free  int // bytes of short texts, which are not charged
	steps int // of regular expressions
	Over  bool
	Long  bool // also because one text was too long
}

// Bounds are lower ones than those of a rule, for expressions that are evaluated often; 0 stands for
// those of a rule.
type Bounds struct {
	Text  int // bytes of one text
	Spent int // bytes of all
	Steps int // of regular expressions
}

// CountOne counts an expression, and reports whether there may be one more.
func (b *Budget) CountOne() bool {
	if b.Count >= MaxEvaluations {
		return false
	}
	b.Count++
	return true
}

// Spent returns the bytes and the steps of regular expressions that were charged.
func (b *Budget) Spent() (bytes, steps int) { return b.spent, b.steps }

// Free returns the bytes of short texts that were looked at and not charged: there may be any
// number of them in an expression that a client sends.
func (b *Budget) Free() int { return b.free }

// Charge takes n bytes of text at a price for each, and reports whether the
// budget allows for them.
func (b *Budget) Charge(n, price int) bool {
	switch {
	case n < FreeText:
		b.free += n
		return true
	case b.Most.Text > 0 && n > b.Most.Text:
		b.Over, b.Long = true, true
		return false
	case b.Over || n > (cmp.Or(b.Most.Spent, MaxSpent)-b.spent)/price:
		b.Over = true
		return false
	}
	b.spent += n * price
	return true
}

// Match reports whether a text matches, and whether the budget was enough to find
// out.
func (b *Budget) Match(m *lang.Machine, s string) (matched, ok bool) {
	most := cmp.Or(b.Most.Steps, MaxMatchSteps)
	if b.steps > most || !b.Charge(len(s), matchCost) {
		return false, false
	}
	matched, steps := m.Match(s, most-b.steps)
	if b.steps += steps; b.steps > most {
		b.Over = true
		return false, false
	}
	return matched, true
}
