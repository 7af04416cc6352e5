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

// limit reads a .limit property.
func (b *builder) limit(v *hujson.Value) int {
	if !b.reserve(v.StartOffset, ".limit") {
		return 0
	}
	n, err := strconv.Atoi(b.doc.text[v.StartOffset:v.EndOffset])
	if err != nil || v.Value.Kind() != '0' || n < 1 || n > MaxLimit {
		b.fail(v.StartOffset, ".limit", msgBadLimit)
		return 0
	}
	return n
}

// Limited reports whether there is a .limit anywhere in the document.
func (r *Ruleset) Limited() bool { return r.root != nil && r.root.limited }

// Limits are the .limit declarations of one node of the document and those below it:
// how many children may be read there at once. A nil *Limits has none.
type Limits struct {
	node *node
	path string // of the node, as the document has it; "" for the root
}

// Limits returns those that concern a read of p: nil if there are none at p or below.
func (r *Ruleset) Limits(p tree.Path) *Limits {
	if r.root == nil {
		return nil
	}
	l := (&Limits{node: r.root}).orNil()
	for key, rest, ok := p.Cut(); ok && l != nil; key, rest, ok = rest.Cut() {
		l = l.Child(key)
	}
	return l
}

func (l *Limits) orNil() *Limits {
	if l.node == nil || !l.node.limited {
		return nil
	}
	return l
}

// Max returns the number of children that may be read at once at the node, 0 for any.
func (l *Limits) Max() int { return l.node.limit }

// Rule returns the path of the declaration: "/messages/$room/.limit".
func (l *Limits) Rule() string { return l.path + "/.limit" }

// Child returns the limits at a child and below it, nil for none. As everywhere, a
// literal key wins over the capture.
func (l *Limits) Child(key string) *Limits {
	c := l.node.child(key)
	name := key
	if c == l.node.capture {
		name = l.node.captureName
	}
	return (&Limits{c, l.path + "/" + name}).orNil()
}

// Below returns the keys of the document's children with limits at or below them,
// and whether those that it does not name may have some.
func (l *Limits) Below() (keys []string, others bool) {
	for key := range literals(l.node) {
		if l.node.children[key].limited {
			keys = append(keys, key)
		}
	}
	return keys, l.node.capture != nil && l.node.capture.limited
}
