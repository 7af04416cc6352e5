package rules

import (
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// A newTree is the tree as it will be after an operation: the old one with all
// writes of the operation over it. It copies nothing and reads no more of the old
// tree than a question needs. Finding the writes that matter takes logarithmic
// time, since an update may have tens of thousands.
type newTree struct {
	old        *oldTree
	values     []tree.ResolvedWrite // by path
	priorities []tree.ResolvedWrite // by path
	sets       []int                // sets[i]: how many of values[:i] are no removals
	large      map[tree.Path]*branch
	left       map[tree.Path]bool // answers of remains; many writes ask about one ancestor

	// The node that is being validated, which is inside a written value.
	here     tree.Path
	hereNode tree.Node

	long finding // the last long string that was decoded
}

func (t *newTree) reset(old *oldTree, writes []tree.ResolvedWrite) {
	t.old = old
	t.values, t.priorities = emptied(t.values), emptied(t.priorities)
	for _, w := range writes {
		if w.Priority {
			t.priorities = append(t.priorities, w)
		} else {
			t.values = append(t.values, w)
		}
	}
	byPath := func(a, b tree.ResolvedWrite) int { return strings.Compare(a.Path.Clean(), b.Path.Clean()) }
	slices.SortFunc(t.values, byPath)
	slices.SortFunc(t.priorities, byPath)
	t.sets = append(t.sets[:0], 0)
	for i, w := range t.values {
		n := t.sets[i]
		if !w.Node.IsEmpty() {
			n++
		}
		t.sets = append(t.sets, n)
	}
	t.large, t.left, t.long = nil, nil, finding{}
	t.stand(tree.Root, tree.Empty)
}

// emptied returns an empty list that keeps room for a usual update and none of
// what was in it.
func emptied(list []tree.ResolvedWrite) []tree.ResolvedWrite {
	if cap(list) > 64 {
		return nil
	}
	clear(list)
	return list[:0]
}

// stand notes the node that is being validated, so that questions about it and
// what is below need not search for it. The empty node is none.
func (t *newTree) stand(p tree.Path, n tree.Node) { t.here, t.hereNode = p, n }

// A place says how the writes change a node.
type place int

const (
	untouched place = iota
	written         // a write at it or above it says all of it
	filled          // writes below it put something there, so it is an object
	thinned         // writes below it only remove
)

// at returns how the writes change the node at p, and the node if it is written.
func (t *newTree) at(p tree.Path) (place, tree.Node) {
	if !t.hereNode.IsEmpty() && t.here.Contains(p) {
		if rel := t.here.Rel(p); rel.IsRoot() || len(t.hereNode.Text()) <= indexedFrom {
			return written, t.hereNode.Get(rel)
		}
	}
	if w := t.cover(p); w != nil {
		return written, t.inside(w, p)
	}
	switch lo, hi := t.below(p); {
	case lo == hi:
		return untouched, tree.Empty
	case t.sets[lo] < t.sets[hi]:
		return filled, tree.Empty
	}
	return thinned, tree.Empty
}

func (t *newTree) exists(p tree.Path) bool {
	switch how, n := t.at(p); how {
	case written:
		return !n.IsEmpty()
	case filled:
		return true
	case thinned:
		return t.remains(p)
	}
	return t.old.exists(p)
}

// value returns valueOf the node at p.
func (t *newTree) value(p tree.Path) any {
	switch how, n := t.at(p); how {
	case written:
		return t.decoded(p, n)
	case filled:
		return object{}
	case thinned:
		if !t.remains(p) {
			return nil
		}
	}
	return t.old.value(p)
}

// decoded returns valueOf the written node n at p. Rules at a node and above it
// read what is written there once each, but those of many nodes can read one and
// the same: that is charged.
func (t *newTree) decoded(p tree.Path, n tree.Node) any {
	switch {
	case len(n.Text()) < freeText || n.IsObject() || !t.hereNode.IsEmpty() && t.here.Contains(p):
		return valueOf(n)
	case t.long.is(p):
		return t.long.fact.value
	case !t.old.budget.charge(len(n.Text()), 1):
		return nil
	}
	v := valueOf(n)
	t.long = finding{p, fact{known: knowsValue, value: v}}
	return v
}

// priority returns the priority of the node at p. A node that gets or loses
// children keeps the one it had.
func (t *newTree) priority(p tree.Path) any {
	how, n := t.at(p)
	switch {
	case how == written:
		return valueOf(n.Priority())
	case !t.exists(p):
		return nil
	}
	if i, ok := search(t.priorities, p); ok {
		return valueOf(t.priorities[i].Node)
	}
	return t.old.priority(p)
}

// keys yields the keys of the children that the node at p may have. Each that it
// has is among them; some of the others may be gone.
func (t *newTree) keys(p tree.Path) iter.Seq[string] {
	return func(yield func(string) bool) {
		how, n := t.at(p)
		if how == written {
			for key := range n.Children() {
				if !yield(key) {
					return
				}
			}
			return
		}
		for key := range t.old.keys(p) {
			if !yield(key) {
				return
			}
		}
		t.addedKeys(p, yield)
	}
}

// addedKeys yields the keys below p that only the writes have.
func (t *newTree) addedKeys(p tree.Path, yield func(string) bool) {
	lo, hi := t.below(p)
	last := ""
	for _, w := range t.values[lo:hi] {
		key, _, _ := p.Rel(w.Path).Cut()
		if key == last || t.old.exists(p.Child(key)) {
			continue
		}
		if last = key; !yield(key) {
			return
		}
	}
}

// remains reports whether the node at p outlives the removals below it. It looks
// at children until it finds one that none of them concerns, so at no more of
// them than there are removals, and one.
func (t *newTree) remains(p tree.Path) bool {
	if left, ok := t.left[p]; ok {
		return left
	}
	left := t.outlives(p)
	if t.left == nil {
		t.left = make(map[tree.Path]bool)
	}
	t.left[p] = left
	return left
}

func (t *newTree) outlives(p tree.Path) bool {
	if t.old.value(p) != any(object{}) {
		return t.old.exists(p) // removing below a leaf removes nothing
	}
	for key := range t.old.keys(p) {
		c := p.Child(key)
		if _, removed := search(t.values, c); removed {
			continue
		}
		if lo, hi := t.below(c); lo == hi || t.outlives(c) {
			return true
		}
	}
	return false
}

// cover returns the write at p or above it, or nil.
func (t *newTree) cover(p tree.Path) *tree.ResolvedWrite {
	if len(t.values) == 1 {
		if w := &t.values[0]; w.Path.Contains(p) {
			return w
		}
		return nil
	}
	for len(t.values) > 0 {
		if i, ok := search(t.values, p); ok {
			return &t.values[i]
		}
		if p.IsRoot() {
			break
		}
		p, _ = p.Parent()
	}
	return nil
}

// search finds the write at p.
func search(list []tree.ResolvedWrite, p tree.Path) (int, bool) {
	return slices.BinarySearchFunc(list, p, func(w tree.ResolvedWrite, p tree.Path) int {
		return strings.Compare(w.Path.Clean(), p.Clean())
	})
}

// below returns the range of values that are below p.
func (t *newTree) below(p tree.Path) (lo, hi int) {
	n := len(t.values)
	if p.IsRoot() {
		if n > 0 && t.values[0].Path.IsRoot() {
			return 1, n
		}
		return 0, n
	}
	lo = sort.Search(n, func(i int) bool { return compareWith(t.values[i].Path.Clean(), p.Clean(), '/') >= 0 })
	hi = lo + sort.Search(n-lo, func(i int) bool { return compareWith(t.values[lo+i].Path.Clean(), p.Clean(), '/'+1) >= 0 })
	return lo, hi
}

// compareWith compares s with the text of p and one more byte.
func compareWith(s, p string, more byte) int {
	if len(s) <= len(p) {
		if c := strings.Compare(s, p); c != 0 {
			return c
		}
		return -1
	}
	if c := strings.Compare(s[:len(p)], p); c != 0 {
		return c
	}
	if s[len(p)] != more {
		return int(s[len(p)]) - int(more)
	}
	return len(s) - len(p) - 1
}

// indexedFrom is the length of text from which the children of a written object
// are indexed. Below, searching the text is faster; above, a rule that looks from
// each of many siblings at another would take quadratic time.
const indexedFrom = 4096

// inside returns the node at p inside the value of a write.
func (t *newTree) inside(w *tree.ResolvedWrite, p tree.Path) tree.Node {
	rel := w.Path.Rel(p)
	if rel.IsRoot() || len(w.Node.Text()) <= indexedFrom {
		return w.Node.Get(rel)
	}
	b := t.large[w.Path]
	if b == nil {
		if t.large == nil {
			t.large = make(map[tree.Path]*branch)
		}
		b = &branch{node: w.Node}
		t.large[w.Path] = b
	}
	return b.get(rel)
}

// A branch is a large node with an index of its children, made on demand.
type branch struct {
	node     tree.Node
	children map[string]*branch
}

func (b *branch) get(p tree.Path) tree.Node {
	for {
		key, rest, ok := p.Cut()
		if !ok || len(b.node.Text()) <= indexedFrom {
			return b.node.Get(p)
		}
		if b.children == nil {
			b.children = make(map[string]*branch)
			for key, c := range b.node.Children() {
				b.children[key] = &branch{node: c}
			}
		}
		if b = b.children[key]; b == nil {
			return tree.Empty
		}
		p = rest
	}
}
