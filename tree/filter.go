package tree

import (
	"cmp"
	"fmt"
	"iter"
)

// A Filter keeps some of the children in the range of a query: those that it matches. The
// package of expressions has the one there is; here it is only what queries need of it.
type Filter interface {
	// Text is equal for filters that match the same children.
	Text() string
	// Most is how many children one read may look at.
	Most() int
	// Needs returns what children that match have: each has one of them. None: nothing is known.
	// The caller must not modify the result.
	Needs() []Need
	// Match reports whether the filter matches the child of a node, and how much was spent to find that
	// out (see Looks). If that would be more than most, spent is, and matches means nothing.
	Match(data Reader, parent Path, key string, most int) (matches bool, spent int, err error)
}

// A Need is what a child has that a filter matches: a value of some order in a range.
type Need struct {
	Order      string // of queries; with a Part its text, which tells whether parts are equal
	Start, End Bound  // of the value, as in a query by the order
	Word       string // if not "": the value is a text, and this one of its words (expression.Words)

	// Part is an expression about a child that the filter compares with a constant; nil: the order is
	// one of queries. Value returns the value for the child of a node, and how much was spent to find
	// it out. Empty is none that compares with any constant. known is false if it cannot be a value.
	Part interface {
		// It spends as Match does.
		Value(data Reader, parent Path, key string, most int) (n Node, known bool, spent int, err error)
	}
}

// Looks are the looks of one read at the children of a node through a filter.
type Looks struct {
	Data   Reader
	Path   Path
	Filter Filter // nil: it matches everything
	// Spent is bytes of text, of the filter for each child too, and steps of regular expressions, with 4
	// for each. Most is the most that may be spent; 0: MaxLooked. If Shared is not nil, its Spent and Most
	// count instead.
	Spent, Most int
	Shared      *Looks

	n int
}

// MaxLooked is what one read may spend. It takes a second or so. A read keeps its place until its
// end, and others wait for it.
const MaxLooked = 128 << 20

// At reports whether the filter matches a child. The error is a *LooksError after too many.
func (l *Looks) At(key string) (bool, error) {
	if l.Filter == nil {
		return true, nil
	}
	if l.n >= l.Filter.Most() {
		return false, &LooksError{Most: l.Filter.Most()}
	}
	return l.match(l.Data, l.Path, key)
}

// AtChild is At for a child that is at hand: it does not count among those that a filter may look at,
// but what it spends does.
func (l *Looks) AtChild(key string, child Node) (bool, error) {
	if l.Filter == nil {
		return true, nil
	}
	return l.match(OneChild{key, child}, Root, key)
}

func (l *Looks) match(data Reader, p Path, key string) (bool, error) {
	total := l.Total()
	if l.n++; total.Spent > total.Most {
		return false, &LooksError{Most: l.n, Text: true}
	}
	ok, spent, err := l.Filter.Match(data, p, key, total.Most-total.Spent)
	if total.Spent += spent; total.Spent > total.Most {
		return false, &LooksError{Most: l.n, Text: true}
	}
	return ok, err
}

// Total returns the looks whose Spent and Most count.
func (l *Looks) Total() *Looks {
	if l.Shared != nil {
		return l.Shared
	}
	l.Most = cmp.Or(l.Most, MaxLooked)
	return l
}

// A LooksError says that a read with a filter has looked at as many children as it may, or at
// as much of them. It is never answered with those that were found so far.
type LooksError struct {
	Most int
	Text bool // too much was looked at in so many children
}

func (e *LooksError) Error() string {
	if e.Text {
		return fmt.Sprintf("the filter has looked at too much in %d children without an end; narrow the range, or simplify the filter", e.Most)
	}
	return fmt.Sprintf("the filter has looked at %d children without an end; narrow the range, or set maxVisited to at most 100000", e.Most)
}

// Unfiltered returns the query without its filter, as the rules decide about it. It has no
// limit, because a filter looks at children beyond it.
func (q Query) Unfiltered() Query {
	if q.Filter != nil {
		q.Filter, q.Limit, q.FromLast = nil, 0, false
	}
	return q
}

// OneChild is a tree whose root has one child.
type OneChild struct {
	Key   string
	Child Node
}

// Get returns the node at p.
func (t OneChild) Get(p Path) (Node, error) {
	key, rest, ok := p.Cut()
	switch {
	case !ok:
		return Empty.With(Root.Child(t.Key), t.Child), nil
	case key != t.Key:
		return Empty, nil
	}
	return t.Child.Get(rest), nil
}

// Has reports whether there is a node at p.
func (t OneChild) Has(p Path) (bool, error) {
	n, err := t.Get(p)
	return !n.IsEmpty(), err
}

// Peek returns the node at p if it is a leaf.
func (t OneChild) Peek(p Path) (leaf Node, isObject bool, err error) {
	n, err := t.Get(p)
	if n.IsObject() {
		return Empty, true, err
	}
	return n, false, err
}

// Priority returns the priority of the node at p.
func (t OneChild) Priority(p Path) (Node, error) {
	n, err := t.Get(p)
	return n.Priority(), err
}

// Keys yields the keys of the children of the node at p.
func (t OneChild) Keys(p Path) iter.Seq2[string, error] {
	n, err := t.Get(p)
	return func(yield func(string, error) bool) {
		if err != nil {
			yield("", err)
			return
		}
		for key := range n.Children() {
			if !yield(key, nil) {
				return
			}
		}
	}
}
