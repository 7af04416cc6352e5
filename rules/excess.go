package rules

import (
	"fmt"
	"iter"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// Children is a tree as far as a .limit looks at it.
type Children interface {
	// Keys yields the keys of the children of the node at p in key order.
	Keys(p tree.Path) iter.Seq2[string, error]
	// Count returns the number of children of the node at p that q shows.
	Count(p tree.Path, q tree.Query) (int, error)
	// Query returns these children in their order.
	Query(p tree.Path, q tree.Query) ([]tree.Entry, error)
}

// An Excess is a node of which a read would show more children than its .limit
// allows.
type Excess struct {
	Path  tree.Path // of the node
	Limit *Limit
}

// String says what is wrong with the read and what would be allowed.
func (x *Excess) String() string {
	return fmt.Sprintf("%s has more than %d children, which %s does not allow to be read at once; use limitToFirst or limitToLast", x.Path, x.Limit.Max, x.Limit.Path)
}

// Excess returns the first node of which a read of the children of p that q shows,
// with all that is below them, would show too many. keysOnly is a read of nothing
// below the children. It is nil if there is no such node; the error is t's.
func (r *Ruleset) Excess(t Children, p tree.Path, q tree.Query, keysOnly bool) (*Excess, error) {
	return (&measure{children: t}).read(r.Limits(p), p, q, keysOnly)
}

// Excess is Ruleset.Excess for the node at p alone, whose limits are l. It counts no
// more children than decide.
func (l *Limits) Excess(t Children, p tree.Path, q tree.Query) (*Excess, error) {
	return (&measure{children: t}).here(l, p, q)
}

// bound denies a read that was allowed if it would show too much.
func (r *Ruleset) bound(q *Request, t *Trace) error {
	if !t.Allow || q.Op != OpRead || q.Children == nil {
		return nil
	}
	m := measure{children: q.Children, noting: true}
	x, err := m.read(r.Limits(q.Path), q.Path, q.Query, q.KeysOnly)
	if t.Limits, t.Excess = m.compared, x; x != nil {
		t.Decision = Decision{Rule: x.Limit.Path}
	}
	return err
}

// A measure compares what a read would show with the limits.
type measure struct {
	children Children
	noting   bool
	compared []*Limit // with noting: each once
}

func (m *measure) read(l *Limits, p tree.Path, q tree.Query, keysOnly bool) (*Excess, error) {
	if l == nil {
		return nil, nil
	}
	if x, err := m.here(l, p, q); x != nil || err != nil || keysOnly {
		return x, err
	}
	return m.below(l, p, q)
}

// here looks at the children of p itself.
func (m *measure) here(l *Limits, p tree.Path, q tree.Query) (*Excess, error) {
	if l.limit == nil {
		return nil, nil
	}
	if m.noting && !slices.Contains(m.compared, l.limit) {
		m.compared = append(m.compared, l.limit)
	}
	most := l.limit.Max
	if q.Limit > 0 && q.Limit <= most {
		return nil, nil
	}
	q.Limit = most + 1
	n, err := m.children.Count(p, q)
	if err != nil || n <= most {
		return nil, err
	}
	return &Excess{p, l.limit}, nil
}

// below looks at what lies below the children that the query shows.
func (m *measure) below(l *Limits, p tree.Path, q tree.Query) (*Excess, error) {
	named, others := l.Below()
	if len(named) == 0 && !others {
		return nil, nil
	}
	if !q.IsAll() {
		return m.shown(l, p, q)
	}
	for _, key := range named {
		if x, err := m.child(l, p, key); x != nil || err != nil {
			return x, err
		}
	}
	if !others {
		return nil, nil
	}
	for key, err := range m.children.Keys(p) {
		if err != nil {
			return nil, err
		}
		if _, done := slices.BinarySearch(named, key); done {
			continue
		}
		if x, err := m.child(l, p, key); x != nil || err != nil {
			return x, err
		}
	}
	return nil, nil
}

// shown is below for a query that shows some of the children.
func (m *measure) shown(l *Limits, p tree.Path, q tree.Query) (*Excess, error) {
	entries, err := m.children.Query(p, q)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if x, err := m.child(l, p, e.Key); x != nil || err != nil {
			return x, err
		}
	}
	return nil, nil
}

func (m *measure) child(l *Limits, p tree.Path, key string) (*Excess, error) {
	return m.read(l.Child(key), p.Child(key), tree.Query{}, false)
}
