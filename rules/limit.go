package rules

import (
	"fmt"
	"iter"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// AllLimits returns every .limit of the document, in its order. The caller must
// not modify the result.
func (r *Ruleset) AllLimits() []*Limit { return r.limits }

// Limited reports whether there is a .limit anywhere in the document.
func (r *Ruleset) Limited() bool { return len(r.limits) > 0 }

// Limits are the .limit declarations of one node of the document and those below it.
// A nil *Limits has none.
type Limits node

// Limits returns those that concern a read of p: nil if there are none at p or below.
func (r *Ruleset) Limits(p tree.Path) *Limits {
	l := r.root.limits()
	for key, rest, ok := p.Cut(); ok && l != nil; key, rest, ok = rest.Cut() {
		l = l.Child(key)
	}
	return l
}

// limits returns n as Limits, nil if there are none.
func (n *node) limits() *Limits {
	if n == nil || !n.limited {
		return nil
	}
	return (*Limits)(n)
}

// Child returns the limits at a child and below it, nil for none. As everywhere, a
// literal key wins over the capture.
func (l *Limits) Child(key string) *Limits { return (*node)(l).child(key).limits() }

// Below returns the keys of the document's children with limits at or below them,
// and whether those that it does not name may have some.
func (l *Limits) Below() (keys []string, others bool) {
	for key := range literals((*node)(l)) {
		if l.children[key].limited {
			keys = append(keys, key)
		}
	}
	return keys, l.capture != nil && l.capture.limited
}

// Children is the part of a tree that a .limit looks at.
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

// Excess returns the first node of which a read would show too many children, nil if
// there is none. The read shows the children of p that q selects, with all that is
// below them, or with keysOnly nothing below them. The error is one of t.
func (r *Ruleset) Excess(t Children, p tree.Path, q tree.Query, keysOnly bool) (*Excess, error) {
	return (&limitCheck{children: t}).read(r.Limits(p), p, q, keysOnly)
}

// Excess is Ruleset.Excess for the node at p alone, whose limits are l. It stops
// counting at the first child too many.
func (l *Limits) Excess(t Children, p tree.Path, q tree.Query) (*Excess, error) {
	return (&limitCheck{children: t}).here(l, p, q)
}

// A limitCheck compares what a read would show with the limits. It counts before
// anything is read, and goes down only where the document has limits below.
type limitCheck struct {
	children Children
	noting   bool
	compared []*Limit // with noting: each once
}

// read looks at a read of the node at p, with all that is below it unless keysOnly.
func (c *limitCheck) read(l *Limits, p tree.Path, q tree.Query, keysOnly bool) (*Excess, error) {
	if l == nil {
		return nil, nil
	}
	if x, err := c.here(l, p, q); x != nil || err != nil || keysOnly {
		return x, err
	}
	return c.below(l, p, q)
}

// here looks at the children of p itself.
func (c *limitCheck) here(l *Limits, p tree.Path, q tree.Query) (*Excess, error) {
	if l.limit == nil {
		return nil, nil
	}
	if c.noting && !slices.Contains(c.compared, l.limit) {
		c.compared = append(c.compared, l.limit)
	}
	most := l.limit.Max
	if q.Limit > 0 && q.Limit <= most {
		return nil, nil
	}
	q.Limit = most + 1
	n, err := c.children.Count(p, q)
	if err != nil || n <= most {
		return nil, err
	}
	return &Excess{p, l.limit}, nil
}

// below looks at what lies below the children that the query shows.
func (c *limitCheck) below(l *Limits, p tree.Path, q tree.Query) (*Excess, error) {
	named, others := l.Below()
	if len(named) == 0 && !others {
		return nil, nil
	}
	if !q.IsAll() {
		return c.shown(l, p, q)
	}
	for _, key := range named {
		if x, err := c.child(l, p, key); x != nil || err != nil {
			return x, err
		}
	}
	if !others {
		return nil, nil
	}
	for key, err := range c.children.Keys(p) {
		if err != nil {
			return nil, err
		}
		if _, done := slices.BinarySearch(named, key); done {
			continue
		}
		if x, err := c.child(l, p, key); x != nil || err != nil {
			return x, err
		}
	}
	return nil, nil
}

// shown is below for a query that shows some of the children.
func (c *limitCheck) shown(l *Limits, p tree.Path, q tree.Query) (*Excess, error) {
	entries, err := c.children.Query(p, q)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if x, err := c.child(l, p, e.Key); x != nil || err != nil {
			return x, err
		}
	}
	return nil, nil
}

// child looks at a child that the read shows whole.
func (c *limitCheck) child(l *Limits, p tree.Path, key string) (*Excess, error) {
	return c.read(l.Child(key), p.Child(key), tree.Query{}, false)
}
