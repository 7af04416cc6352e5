// Package trie finds what a change at a path of the tree may concern.
package trie

import (
	"iter"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// A Trie keeps items at paths and finds those that a change may concern. The
// zero Trie is empty.
//
// Nodes are made on the way to an item and removed with the last one below
// them, so a trie without items has no nodes. It has no lock; its owner has
// one.
type Trie[T comparable] struct {
	root Node[T]
}

// A Node is what is at one path. Most have one child, for which a map would take several times
// as much memory as the rest.
type Node[T comparable] struct {
	key   string // of only
	only  *Node[T]
	kids  map[string]*Node[T] // nil if there is one, which is only, or none
	Items []T                 // At this path
}

// kid returns the child with a key, nil if there is none.
func (n *Node[T]) kid(key string) *Node[T] {
	if n.only != nil && n.key == key {
		return n.only
	}
	return n.kids[key]
}

// add makes a child, which is not there.
func (n *Node[T]) add(key string) *Node[T] {
	kid := new(Node[T])
	switch {
	case n.kids != nil:
		n.kids[key] = kid
	case n.only != nil:
		n.kids = map[string]*Node[T]{n.key: n.only, key: kid}
		n.key, n.only = "", nil
	default:
		n.key, n.only = key, kid
	}
	return kid
}

// remove takes a child away.
func (n *Node[T]) remove(key string) {
	if n.only != nil {
		n.key, n.only = "", nil
		return
	}
	if delete(n.kids, key); len(n.kids) == 0 {
		n.kids = nil
	}
}

// isBare reports whether n has neither children nor items.
func (n *Node[T]) isBare() bool { return n.only == nil && n.kids == nil && len(n.Items) == 0 }

// At returns the node for p, making it.
func (t *Trie[T]) At(p tree.Path) *Node[T] {
	n := &t.root
	for key := range p.Keys() {
		next := n.kid(key)
		if next == nil {
			next = n.add(key)
		}
		n = next
	}
	return n
}

// None reports whether the trie is empty.
func (t *Trie[T]) None() bool { return t.root.isBare() }

// Find returns the node for p, nil if there is none.
func (t *Trie[T]) Find(p tree.Path) *Node[T] {
	n := &t.root
	for key := range p.Keys() {
		if n = n.kid(key); n == nil {
			return nil
		}
	}
	return n
}

// Add puts an item at p.
func (t *Trie[T]) Add(p tree.Path, item T) {
	n := t.At(p)
	n.Items = append(n.Items, item)
}

// Remove takes an item away from p, where it is, and with it the nodes that are
// left without use.
func (t *Trie[T]) Remove(p tree.Path, item T) { t.root.drop(item, p) }

func (n *Node[T]) drop(item T, rel tree.Path) (unused bool) {
	if key, rest, ok := rel.Cut(); ok {
		if n.kid(key).drop(item, rest) {
			n.remove(key)
		}
	} else {
		i := slices.Index(n.Items, item)
		last := len(n.Items) - 1
		n.Items[i] = n.Items[last]
		clear(n.Items[last:])
		n.Items = n.Items[:last]
	}
	return n.isBare()
}

// Above yields the items at p and at its ancestors.
func (t *Trie[T]) Above(p tree.Path) iter.Seq[T] {
	return func(yield func(T) bool) {
		n := &t.root
		for rest := p; n != nil; {
			for _, item := range n.Items {
				if !yield(item) {
					return
				}
			}
			key, below, ok := rest.Cut()
			if !ok {
				return
			}
			n, rest = n.kid(key), below
		}
	}
}

// Below yields the items at paths below p.
func (t *Trie[T]) Below(p tree.Path) iter.Seq[T] {
	return func(yield func(T) bool) {
		n := &t.root
		for key := range p.Keys() {
			if n = n.kid(key); n == nil {
				return
			}
		}
		n.eachBelow(yield)
	}
}

// All yields all items.
func (t *Trie[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) { t.root.each(yield) }
}

// each yields all items at n and below it, until yield returns false.
func (n *Node[T]) each(yield func(T) bool) bool {
	for _, item := range n.Items {
		if !yield(item) {
			return false
		}
	}
	return n.eachBelow(yield)
}

func (n *Node[T]) eachBelow(yield func(T) bool) bool {
	if n.only != nil {
		return n.only.each(yield)
	}
	for _, kid := range n.kids {
		if !kid.each(yield) {
			return false
		}
	}
	return true
}
