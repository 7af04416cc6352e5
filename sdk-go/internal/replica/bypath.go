package replica

import (
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// A byPath holds values by path, so that those at, above and below a path are
// found without a look at the others.
type byPath[T comparable] struct {
	entries []entry[T] // sorted by path
}

type entry[T comparable] struct {
	path   string // tree.Path.Clean: what lies below "a" has the prefix "a/"
	values []T
}

func (b *byPath[T]) search(path string) int {
	return sort.Search(len(b.entries), func(i int) bool { return b.entries[i].path >= path })
}

// at returns the values at p, in the order they were added.
func (b *byPath[T]) at(p tree.Path) []T {
	path := p.Clean()
	if i := b.search(path); i < len(b.entries) && b.entries[i].path == path {
		return b.entries[i].values
	}
	return nil
}

func (b *byPath[T]) add(p tree.Path, v T) {
	path := p.Clean()
	i := b.search(path)
	if i == len(b.entries) || b.entries[i].path != path {
		b.entries = slices.Insert(b.entries, i, entry[T]{path: path})
	}
	// A new slice: what at returned may be in use.
	b.entries[i].values = append(slices.Clip(b.entries[i].values), v)
}

func (b *byPath[T]) remove(p tree.Path, v T) {
	path := p.Clean()
	i := b.search(path)
	if i == len(b.entries) || b.entries[i].path != path {
		return
	}
	values := slices.DeleteFunc(slices.Clone(b.entries[i].values), func(have T) bool { return have == v })
	if b.entries[i].values = values; len(values) == 0 {
		b.entries = slices.Delete(b.entries, i, i+1)
	}
}

// all returns all values, those above before those below.
func (b *byPath[T]) all() []T {
	var list []T
	for _, e := range b.entries {
		list = append(list, e.values...)
	}
	return list
}

// above returns the values at p and above, from the root downwards.
func (b *byPath[T]) above(p tree.Path) []T {
	var list []T
	at := tree.Root
	list = append(list, b.at(at)...)
	for key := range p.Keys() {
		at = at.Child(key)
		list = append(list, b.at(at)...)
	}
	return list
}

// below returns the values below p, but not those at p.
func (b *byPath[T]) below(p tree.Path) []T {
	var list []T
	for e := range b.inside(p) {
		list = append(list, e.values...)
	}
	return list
}

// inside yields what lies below p.
func (b *byPath[T]) inside(p tree.Path) iter.Seq[entry[T]] {
	prefix := p.Clean()
	if prefix != "" {
		prefix += "/"
	}
	return func(yield func(entry[T]) bool) {
		for i := b.search(prefix); i < len(b.entries) && strings.HasPrefix(b.entries[i].path, prefix); i++ {
			if b.entries[i].path != "" && !yield(b.entries[i]) {
				return
			}
		}
	}
}

// overlapping returns the values at p, above and below.
func (b *byPath[T]) overlapping(p tree.Path) []T {
	return append(b.above(p), b.below(p)...)
}
