package derive

import (
	"slices"
	"sort"

	"github.com/dogwooddb/dogwood/tree"
)

// Places are values by path. Most writes touch one node, so these are lists, and most lists
// are filled in the order of paths, in which they are read: only a long one that is not has
// an index. They were maps at first, whose keys were sorted to be read: with the other reuse of
// memory, lists took BenchmarkTouch/map from 39 allocations to 2.
//
// The zero value is empty. It is for one goroutine. A path is in it once.
type places[V any] struct {
	list  []placed[V]
	mixed bool              // list is not in the order of paths
	index map[tree.Path]int // of a mixed list that is not short
}

type placed[V any] struct {
	path tree.Path
	v    V
}

// of returns the value of a place if it is p.
func (e placed[V]) of(p tree.Path) (v V) {
	if e.path == p {
		return e.v
	}
	return v
}

func comparePlaced[V any](e placed[V], p tree.Path) int { return tree.ComparePaths(e.path, p) }

// short is how many places are found soonest by looking at each.
const short = 8

// roomy is from when on the memory of a list is given back: runs are pooled, and after one wide
// write they would keep the memory of a million places.
const roomy = 64

func (l *places[V]) find(p tree.Path) (i int, found bool) {
	switch {
	case len(l.list) <= short:
		i = slices.IndexFunc(l.list, func(e placed[V]) bool { return e.path == p })
		return i, i >= 0
	case !l.mixed:
		return slices.BinarySearchFunc(l.list, p, comparePlaced[V])
	}
	if l.index == nil {
		l.index = make(map[tree.Path]int, 2*len(l.list))
		for i, e := range l.list {
			l.index[e.path] = i
		}
	}
	i, found = l.index[p]
	return i, found
}

// get returns the value of a place.
func (l *places[V]) get(p tree.Path) (v V, ok bool) {
	if i, ok := l.find(p); ok {
		return l.list[i].v, true
	}
	return v, false
}

func (l *places[V]) has(p tree.Path) bool {
	_, found := l.find(p)
	return found
}

// at returns the value of a place, which is new if there was none. It may be changed until the
// next call. A place behind all others is appended without a search.
func (l *places[V]) at(p tree.Path) (v *V, isNew bool) {
	behind := len(l.list) == 0 || !l.mixed && tree.ComparePaths(l.list[len(l.list)-1].path, p) < 0
	if !behind {
		if i, ok := l.find(p); ok {
			return &l.list[i].v, false
		}
		l.mixed = true
	}
	if l.index != nil {
		l.index[p] = len(l.list)
	}
	l.list = append(l.list, placed[V]{path: p})
	return &l.list[len(l.list)-1].v, true
}

// put sets the value of a place.
func (l *places[V]) put(p tree.Path, v V) {
	to, _ := l.at(p)
	*to = v
}

// sorted returns the places in the order of paths, so that results are the same each time. The
// result is the list itself: it is valid until a place is added or the list is emptied.
func (l *places[V]) sorted() []placed[V] {
	if l.mixed {
		sort.Sort(byPlace[V](l.list)) // slices.SortFunc would be compiled for each V
		l.mixed, l.index = false, nil
	}
	return l.list
}

type byPlace[V any] []placed[V]

func (l byPlace[V]) Len() int           { return len(l) }
func (l byPlace[V]) Less(i, j int) bool { return tree.ComparePaths(l[i].path, l[j].path) < 0 }
func (l byPlace[V]) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }

// empty takes all places out.
func (l *places[V]) empty() {
	l.list = emptied(l.list)
	l.mixed, l.index = false, nil
}

// emptied returns a list without its elements, for the next write.
func emptied[E any](list []E) []E {
	if cap(list) > roomy {
		return nil
	}
	clear(list)
	return list[:0]
}
