package snapshot

import (
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// NewData is the tree as it will be after an operation: the old one with all
// writes of the operation over it. It copies nothing and reads no more of the old
// tree than a question needs. An update may have tens of thousands of writes, so
// those that matter are found by binary search.
//
// Its answers equal those of the tree that the writes leave behind (TestNewData).
type NewData struct {
	old        *Data
	values     []tree.ResolvedWrite // by path
	priorities []tree.ResolvedWrite // by path
	puts       []int                // puts[i]: how many of values[:i] are no removals
	large      map[tree.Path]*branch
	counts     map[tree.Path]int  // answers of NumChildren
	left       map[tree.Path]bool // answers of remains, since many writes ask about one ancestor

	// The node that is being validated, which is inside a written value.
	focus     tree.Path
	focusNode tree.Node

	long finding // the last long string that was decoded
}

func (t *NewData) reset(old *Data, writes []tree.ResolvedWrite) {
	t.old = old
	t.values, t.priorities = emptied(t.values), emptied(t.priorities)
	for _, w := range writes {
		if w.Priority {
			t.priorities = append(t.priorities, w)
		} else {
			t.values = append(t.values, w)
		}
	}
	sortByText(t.values)
	sortByText(t.priorities)
	t.puts = append(t.puts[:0], 0)
	for i, w := range t.values {
		n := t.puts[i]
		if !w.Node.IsEmpty() {
			n++
		}
		t.puts = append(t.puts, n)
	}
	t.large, t.left, t.counts, t.long = nil, nil, nil, finding{}
	t.Focus(tree.Root, tree.Empty)
}

// emptied returns the list without its elements, or nil if it is larger than most
// updates need.
func emptied(list []tree.ResolvedWrite) []tree.ResolvedWrite {
	if cap(list) > 64 {
		return nil
	}
	clear(list)
	return list[:0]
}

// Focus notes the node that is being validated, so that questions about it and
// what is below need not search for it. The empty node ends that.
func (t *NewData) Focus(p tree.Path, n tree.Node) { t.focus, t.focusNode = p, n }

// A change says how the writes change a node.
type change int

const (
	untouched   change = iota
	written            // a write at it or above it says all of it
	addsBelow          // writes below it put something there, so it is an object
	onlyRemoves        // writes below it only remove
)

// at returns how the writes change the node at p, and the node if it is written.
func (t *NewData) at(p tree.Path) (change, tree.Node) {
	if !t.focusNode.IsEmpty() && t.focus.Contains(p) {
		if rel := t.focus.Rel(p); rel.IsRoot() || len(t.focusNode.Text()) <= indexedFrom {
			return written, t.focusNode.Get(rel)
		}
	}
	if w := t.cover(p); w != nil {
		return written, t.inside(w, p)
	}
	switch lo, hi := t.below(p); {
	case lo == hi:
		return untouched, tree.Empty
	case t.puts[lo] < t.puts[hi]:
		return addsBelow, tree.Empty
	}
	return onlyRemoves, tree.Empty
}

// Exists reports whether there is a node at p.
func (t *NewData) Exists(p tree.Path) bool {
	switch how, n := t.at(p); how {
	case written:
		return !n.IsEmpty()
	case addsBelow:
		return true
	case onlyRemoves:
		return t.remains(p)
	}
	return t.old.Exists(p)
}

// Value returns ValueOf the node at p.
func (t *NewData) Value(p tree.Path) any {
	switch how, n := t.at(p); how {
	case written:
		return t.decoded(p, n)
	case addsBelow:
		return Object{}
	case onlyRemoves:
		if !t.remains(p) {
			return nil
		}
	}
	return t.old.Value(p)
}

// decoded returns ValueOf the written node n at p. The rules at a node and above it
// each read once what is written there, which is free: the size of a write is
// bounded. But the rules of many nodes can all read the same text, so reading what
// is elsewhere is charged.
func (t *NewData) decoded(p tree.Path, n tree.Node) any {
	switch {
	case len(n.Text()) < FreeText || n.IsObject() || !t.focusNode.IsEmpty() && t.focus.Contains(p):
		return ValueOf(n)
	case t.long.is(p):
		return t.long.fact.value
	case !t.old.budget.Charge(len(n.Text()), 1):
		return nil
	}
	v := ValueOf(n)
	t.long = finding{p, fact{known: knowsValue, value: v}}
	return v
}

// NumChildren returns the number of children of the node at p. It is known for a node that is not
// changed, and else counted once from the writes below it.
func (t *NewData) NumChildren(p tree.Path) int {
	how, n := t.at(p)
	if how == untouched {
		return t.old.NumChildren(p)
	}
	count, known := t.counts[p]
	if known {
		return count
	}
	if how == written {
		if !t.old.budget.Charge(len(n.Text()), 1) {
			return 0
		}
		count = n.NumChildren()
	} else if count, known = t.countBelow(p); !known {
		return 0
	}
	if t.counts == nil {
		t.counts = make(map[tree.Path]int)
	}
	t.counts[p] = count
	return count
}

// countBelow counts the children of a node by the writes below it. ok is false if that is too
// much for the budget.
func (t *NewData) countBelow(p tree.Path) (count int, ok bool) {
	count, last := t.old.NumChildren(p), ""
	lo, hi := t.below(p)
	for i, w := range t.values[lo:hi] {
		key, _, _ := p.Rel(w.Path).Cut()
		if i > 0 && key == last {
			continue
		}
		if last = key; !t.old.budget.Charge(FreeText, 1) {
			return 0, false
		}
		switch was, is := t.old.Exists(p.Child(key)), t.Exists(p.Child(key)); {
		case is && !was:
			count++
		case was && !is:
			count--
		}
	}
	return count, true
}

// Priority returns ValueOf the priority of the node at p. A node that gets or loses
// children keeps the one it had.
func (t *NewData) Priority(p tree.Path) any {
	how, n := t.at(p)
	switch {
	case how == written:
		return ValueOf(n.Priority())
	case !t.Exists(p):
		return nil
	}
	if i, ok := search(t.priorities, p); ok {
		return ValueOf(t.priorities[i].Node)
	}
	return t.old.Priority(p)
}

// Keys yields the keys of the children that the node at p may have: each that it
// has, and some of those that the writes remove.
func (t *NewData) Keys(p tree.Path) iter.Seq[string] {
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
		for key := range t.old.Keys(p) {
			if !yield(key) {
				return
			}
		}
		t.addedKeys(p, yield)
	}
}

// addedKeys yields the keys below p that only the writes have.
func (t *NewData) addedKeys(p tree.Path, yield func(string) bool) {
	lo, hi := t.below(p)
	last := ""
	for _, w := range t.values[lo:hi] {
		key, _, _ := p.Rel(w.Path).Cut()
		if key == last || t.old.Exists(p.Child(key)) {
			continue
		}
		if last = key; !yield(key) {
			return
		}
	}
}

// remains reports whether the node at p is still there after the removals below it.
// It looks at children until it finds one that no removal concerns, so at most at
// one more than there are removals.
func (t *NewData) remains(p tree.Path) bool {
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

// outlives is remains without its cache.
func (t *NewData) outlives(p tree.Path) bool {
	parent := false
	for key := range t.old.Keys(p) {
		parent = true
		c := p.Child(key)
		if _, removed := search(t.values, c); removed {
			continue
		}
		if lo, hi := t.below(c); lo == hi || t.outlives(c) {
			return true
		}
	}
	return !parent && t.old.Exists(p) // removing below a leaf removes nothing
}

// cover returns the write at p or above it, or nil.
func (t *NewData) cover(p tree.Path) *tree.ResolvedWrite {
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
func (t *NewData) below(p tree.Path) (lo, hi int) {
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

// compareWith compares s with the text of p and one more byte, up to that byte.
func compareWith(s, p string, more byte) int {
	if c := strings.Compare(s[:min(len(s), len(p))], p); c != 0 {
		return c
	}
	if len(s) == len(p) {
		return -1
	}
	return int(s[len(p)]) - int(more)
}

// indexedFrom is the length of text from which the children of a written object
// are indexed. Below, searching the text is faster; above, a rule that looks from
// each of many siblings at another would take quadratic time.
const indexedFrom = 4096

// inside returns the node at p inside the value of a write.
func (t *NewData) inside(w *tree.ResolvedWrite, p tree.Path) tree.Node {
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

// get returns the node at p below the branch.
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

// sortByText sorts writes by the texts of their paths.
func sortByText(writes []tree.ResolvedWrite) {
	if len(writes) > 1 {
		sort.Slice(writes, func(i, j int) bool { return writes[i].Path.Clean() < writes[j].Path.Clean() })
	}
}
