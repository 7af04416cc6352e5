package derive

import (
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// Spreads reports whether a write at p may touch any number of nodes: a capture of a source or
// of a target is below p. Other writes touch a node of each definition at most. Every write
// asks that, so it does not allocate. By "/groups/$g/members/$u", the path "/groups/g1/members"
// spreads, and "/groups/g1/members/ana" does not.
//
// By this, Evaluates and Moves, a server chooses writes that it first derives from on a snapshot,
// outside of the committer. They look at patterns and at no data, so little may follow all the same.
func (d *Document) Spreads(p tree.Path) bool { return d.trie.spreads(p, p.Len()) }

// Evaluates reports whether a write at p may have an expression look at the node of a source at p or
// above it. It does not allocate.
func (d *Document) Evaluates(p tree.Path) bool { return d.trie.looks(p, (*Definition).evaluates) }

// Moves reports whether a write at p, which is a child of a list or below one, may have another child
// move, of whatever size that is. It does not allocate.
func (d *Document) Moves(p tree.Path) bool { return d.trie.looks(p, (*Definition).moves) }

// moves reports whether the definition is of a list whose children move elsewhere.
func (d *Definition) moves() bool { return d.Kind == Keep && d.target != nil }

// looks reports whether a definition with a property has the node at p, or one above it, as a source.
func (n *node) looks(rest tree.Path, has func(*Definition) bool) bool {
	for n != nil {
		if slices.ContainsFunc(n.sources, has) {
			return true
		}
		key, below, ok := rest.Cut()
		if !ok {
			return false
		}
		if n.any.looks(below, has) {
			return true
		}
		n, rest = n.keys[key], below
	}
	return false
}

// evaluates reports whether the definition has an expression that looks at its nodes.
func (d *Definition) evaluates() bool {
	return d.where != nil || d.value != nil && d.value.evaluates() ||
		slices.ContainsFunc(d.target, func(s segment) bool { return s.expr != nil })
}

func (v *value) evaluates() bool {
	return v.expr != nil || slices.ContainsFunc(v.fields, func(f field) bool { return f.evaluates() })
}

func (n *node) spreads(rest tree.Path, depth int) bool {
	for n != nil {
		key, below, ok := rest.Cut()
		if !ok {
			return slices.ContainsFunc(n.sourcesBelow, func(d *Definition) bool { return captures(d.source, depth) }) ||
				slices.ContainsFunc(n.targetsBelow, func(d *Definition) bool { return captures(d.target, depth) })
		}
		next := n.keys[key]
		if next != nil && n.any != nil && next.spreads(below, depth) {
			return true
		}
		if n.any != nil {
			next = n.any
		}
		n, rest = next, below
	}
	return false
}

// captures reports whether a pattern has more than keys below a depth.
func captures(p pattern, depth int) bool {
	return slices.ContainsFunc(p[depth:], func(s segment) bool { return s.key == "" })
}
