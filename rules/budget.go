package rules

import "github.com/dogwooddb/dogwood/rules/lang"

const (
	// maxSpent bounds the bytes of text that the expressions of one operation read
	// and scan. The committer evaluates rules while others wait, so it must not
	// take seconds; reading and searching this much takes a fraction of one.
	maxSpent = 64 << 20

	// matchCost is how many bytes a regular expression is charged for each it
	// looks at, since it is that much slower than a search. It leaves an operation
	// 2 MiB to match.
	matchCost = 32

	// maxMatchSteps bounds the steps of regular expressions of one operation, over short
	// texts, too: a large expression takes a hundred microseconds for a character.
	// So many steps take about a tenth of a second.
	maxMatchSteps = 12_000_000

	// freeText is the length below which text costs nothing: it takes no longer
	// than the expression around it, and expressions are counted.
	freeText = 256
)

// A budget is what an operation may still read and scan. Once something was
// refused, all that costs is refused, so what is decided doesn't depend on which
// texts happen to be short enough for the rest.
type budget struct {
	count int // expressions that were evaluated
	spent int
	steps int // of regular expressions
	over  bool
}

// A Budget is what several decisions may spend together, as those of one task that
// others wait for. The zero Budget is that of one decision, of which nothing is spent.
type Budget struct{ budget }

// charge takes n bytes of text at a price for each, and reports whether the
// budget allows for them.
func (b *budget) charge(n, price int) bool {
	switch {
	case n < freeText:
		return true
	case b.over || n > (maxSpent-b.spent)/price:
		b.over = true
		return false
	}
	b.spent += n * price
	return true
}

// match reports whether a text matches, and whether the budget allowed to find out.
func (b *budget) match(m *lang.Machine, s string) (matched, ok bool) {
	if b.steps > maxMatchSteps || !b.charge(len(s), matchCost) {
		return false, false
	}
	matched, steps := m.Match(s, maxMatchSteps-b.steps)
	if b.steps += steps; b.steps > maxMatchSteps {
		b.over = true
		return false, false
	}
	return matched, true
}

// charge charges the current expression for looking at n bytes of text. If that
// is too much it fails.
func (e *evaluation) charge(n int) bool {
	if e.budget.charge(n, 1) {
		return true
	}
	e.fail(lang.Any, msgTooMuch)
	return false
}
