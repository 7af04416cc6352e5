package sync

import (
	"iter"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// A trie keeps items at paths and finds those that a change may concern. The
// zero trie is empty.
type trie[T comparable] struct {
	root trieNode[T]
}

type trieNode[T comparable] struct {
	kids  map[string]*trieNode[T]
	items []T // at this path
}

// at returns the node for p, making it.
func (t *trie[T]) at(p tree.Path) *trieNode[T] {
	n := &t.root
	for key := range p.Keys() {
		next := n.kids[key]
		if next == nil {
			next = new(trieNode[T])
			if n.kids == nil {
				n.kids = make(map[string]*trieNode[T])
			}
			n.kids[key] = next
		}
		n = next
	}
	return n
}

// none reports whether the trie is empty.
func (t *trie[T]) none() bool { return len(t.root.kids) == 0 && len(t.root.items) == 0 }

// find returns the node for p, nil if there is none.
func (t *trie[T]) find(p tree.Path) *trieNode[T] {
	n := &t.root
	for key := range p.Keys() {
		if n = n.kids[key]; n == nil {
			return nil
		}
	}
	return n
}

// add puts an item at p.
func (t *trie[T]) add(p tree.Path, item T) {
	n := t.at(p)
	n.items = append(n.items, item)
}

// remove takes an item away from p, where it is, and with it the nodes that are
// left without use.
func (t *trie[T]) remove(p tree.Path, item T) { t.root.drop(item, p) }

func (n *trieNode[T]) drop(item T, rel tree.Path) (unused bool) {
	if key, rest, ok := rel.Cut(); ok {
		if n.kids[key].drop(item, rest) {
			delete(n.kids, key)
		}
	} else {
		i := slices.Index(n.items, item)
		last := len(n.items) - 1
		n.items[i] = n.items[last]
		clear(n.items[last:])
		n.items = n.items[:last]
	}
	return len(n.kids) == 0 && len(n.items) == 0
}

// above yields the items at p and at its ancestors.
func (t *trie[T]) above(p tree.Path) iter.Seq[T] {
	return func(yield func(T) bool) {
		n := &t.root
		for rest := p; n != nil; {
			for _, item := range n.items {
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

// below yields the items at paths below p.
func (t *trie[T]) below(p tree.Path) iter.Seq[T] {
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

// each yields all items at n and below it, until yield returns false.
func (n *trieNode[T]) each(yield func(T) bool) bool {
	for _, item := range n.items {
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
