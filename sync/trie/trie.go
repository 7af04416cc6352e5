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

// A Node is what is at one path.
type Node[T comparable] struct {
	kids  map[string]*Node[T]
	Items []T // At this path
}

// At returns the node for p, making it.
func (t *Trie[T]) At(p tree.Path) *Node[T] {
	n := &t.root
	for key := range p.Keys() {
		next := n.kids[key]
		if next == nil {
			next = new(Node[T])
			if n.kids == nil {
				n.kids = make(map[string]*Node[T])
			}
			n.kids[key] = next
		}
		n = next
	}
	return n
}

// None reports whether the trie is empty.
func (t *Trie[T]) None() bool { return len(t.root.kids) == 0 && len(t.root.Items) == 0 }

// Find returns the node for p, nil if there is none.
func (t *Trie[T]) Find(p tree.Path) *Node[T] {
	n := &t.root
	for key := range p.Keys() {
		if n = n.kids[key]; n == nil {
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
		if n.kids[key].drop(item, rest) {
			delete(n.kids, key)
		}
	} else {
		i := slices.Index(n.Items, item)
		last := len(n.Items) - 1
		n.Items[i] = n.Items[last]
		clear(n.Items[last:])
		n.Items = n.Items[:last]
	}
	return len(n.kids) == 0 && len(n.Items) == 0
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
			n, rest = n.kids[key], below
		}
	}
}

// Below yields the items at paths below p.
func (t *Trie[T]) Below(p tree.Path) iter.Seq[T] {
	return func(yield func(T) bool) {
		n := &t.root
		for key := range p.Keys() {
			if n = n.kids[key]; n == nil {
				return
			}
		}
		for _, kid := range n.kids {
			if !kid.each(yield) {
				return
			}
		}
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
	for _, kid := range n.kids {
		if !kid.each(yield) {
			return false
		}
	}
	return true
}
