package rules

import (
	"fmt"
	"strconv"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/tree"
)

// MaxLimit is the greatest number that a .limit may be.
const MaxLimit = 1_000_000

var msgBadLimit = fmt.Sprintf("Invalid limit. Must be a whole number from 1 to %d", MaxLimit)

// A Limit is one .limit of a document: how many children of a node may be read at
// once.
type Limit struct {
	Path string // "/messages/$room/.limit"
	Max  int
	Pos  Pos // of the property's value in the document
}

// limit reads a .limit property.
func (b *builder) limit(v *hujson.Value) *Limit {
	if !b.reserve(v.StartOffset, ".limit") {
		return nil
	}
	n, err := strconv.Atoi(b.doc.text[v.StartOffset:v.EndOffset])
	if err != nil || v.Value.Kind() != '0' || n < 1 || n > MaxLimit {
		b.fail(v.StartOffset, ".limit", msgBadLimit)
		return nil
	}
	l := &Limit{b.path(".limit"), n, b.posAt(v.StartOffset)}
	b.limits = append(b.limits, l)
	return l
}

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
