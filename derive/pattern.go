package derive

import (
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/tree"
)

// A pattern matches paths of its own length, or makes one. A source has keys and captures and
// matches: "/groups/$g/members/$u". A target may have expressions, too, and makes the path for a
// node that the source matches: "/users/$u/groups/{data.val()}". The source of a list ends in a
// capture that no document can name, "*".
type pattern []segment

// A segment of a pattern is a key, a capture, or an expression that makes a key. One of
// the three is set.
type segment struct {
	key     string
	capture string // "$room"
	depth   int    // of the key that the capture has matched, in targets
	expr    *expression.Expression
}

func (s segment) String() string {
	if s.expr != nil {
		return "{" + s.expr.String() + "}"
	}
	return s.key + s.capture
}

// String returns the pattern as it is written, with a slash in front.
func (p pattern) String() string {
	var b strings.Builder
	for _, s := range p {
		b.WriteString("/" + s.String())
	}
	return b.String()
}

// meets reports whether a path that p matches may be at, above or below one that q matches. Captures
// and expressions may be any key. It is symmetric, and an empty pattern meets all.
func (p pattern) meets(q pattern) bool {
	for i := range min(len(p), len(q)) {
		if p[i].key != "" && q[i].key != "" && p[i].key != q[i].key {
			return false
		}
	}
	return true
}

// captures returns the depths of the captures.
func (p pattern) captures() map[string]int {
	depths := make(map[string]int)
	for depth, s := range p {
		if s.capture != "" {
			depths[s.capture] = depth
		}
	}
	return depths
}

// keyAt returns the key of p at a depth.
func keyAt(p tree.Path, depth int) string {
	for range depth {
		_, p, _ = p.Cut()
	}
	key, _, _ := p.Cut()
	return key
}

// ancestor returns the path from which rest leads to p.
func ancestor(p, rest tree.Path) tree.Path {
	for more := rest.Len(); more > 0; more-- {
		p, _ = p.Parent()
	}
	return p
}

// isFixed reports whether the captures of a node alone determine the path that a pattern makes.
func (p pattern) isFixed() bool {
	return !slices.ContainsFunc(p, func(s segment) bool { return s.expr != nil })
}
