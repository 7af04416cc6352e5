package derive

import (
	"slices"
	"sort"

	"github.com/dogwooddb/dogwood/tree"
)

// An update is what was written, with what follows put into it. Its writes are disjoint at
// any time. So a place at or below a write goes into the value of that, and writes below a place
// are replaced by one of the place.
//
// Writes are appended and marked as gone, never moved: their positions are in at, and merge has some
// while it runs. The zero value has none. Level by level, list is what expressions see; in the
// end, divide reads writes itself, as it asks where each is from.
type update struct {
	writes  []updated
	at      map[tree.Target]int // where writes are that are not gone; nil: there are few
	dropped places[bool]        // where writes that were asked for are gone
	altered bool                // a write is gone, or has another value
	listed  bool                // sorted is the update as it is
	sorted  []tree.ResolvedWrite
}

// An updated write is one of an update.
type updated struct {
	tree.ResolvedWrite
	by   *Definition // that it follows from; nil: it was asked for
	gone bool        // an edit has replaced it
}

// An edit is a value that a place gets.
type edit struct {
	path     tree.Path
	node     tree.Node
	by       *Definition
	same     bool // as what is stored: it only corrects what was written there
	survives bool // it only is in the update because a write above left it out
}

// begin begins with what was written.
func (u *update) begin(writes []tree.ResolvedWrite) {
	for _, w := range writes {
		u.writes = append(u.writes, updated{ResolvedWrite: w})
	}
}

// end lets go of the writes.
func (u *update) end() {
	u.dropped.empty()
	*u = update{writes: emptied(u.writes), dropped: u.dropped, sorted: emptied(u.sorted)}
}

// find returns the position of the write to a target that is not gone.
func (u *update) find(t tree.Target) (i int, ok bool) {
	if len(u.writes) <= short {
		i = slices.IndexFunc(u.writes, func(w updated) bool { return w.Target == t && !w.gone })
		return i, i >= 0
	}
	if u.at == nil {
		u.at = make(map[tree.Target]int, len(u.writes))
		for i, w := range u.writes {
			if !w.gone {
				u.at[w.Target] = i
			}
		}
	}
	i, ok = u.at[t]
	return i, ok
}

// list returns the writes, in the order of paths.
func (u *update) list() []tree.ResolvedWrite {
	if u.listed {
		return u.sorted
	}
	u.listed, u.sorted = true, slices.Grow(u.sorted[:0], len(u.writes))
	for i := range u.writes {
		if !u.writes[i].gone {
			u.sorted = append(u.sorted, u.writes[i].ResolvedWrite)
		}
	}
	tree.SortWrites(u.sorted)
	return u.sorted
}

// drop takes a write out.
func (u *update) drop(t tree.Target) {
	i, ok := u.find(t)
	if !ok {
		return
	}
	if u.writes[i].by == nil && !t.Priority {
		u.dropped.put(t.Path, true)
	}
	u.writes[i].gone, u.listed, u.altered = true, false, true
	delete(u.at, t)
}

// put gives a write another value.
func (u *update) put(t tree.Target, n tree.Node) {
	if i, ok := u.find(t); ok {
		u.writes[i].Node, u.listed, u.altered = n, false, true
	}
}

// cover returns the position of the write at p or above it. There is one at most. Writes of a
// priority cover nothing.
func (u *update) cover(p tree.Path) (i int, ok bool) {
	if len(u.writes) <= short {
		i = slices.IndexFunc(u.writes, func(w updated) bool { return !w.gone && !w.Priority && w.Path.Contains(p) })
		return i, i >= 0
	}
	for {
		if i, ok := u.find(tree.Target{Path: p}); ok {
			return i, true
		}
		if p.IsRoot() {
			return 0, false
		}
		p, _ = p.Parent()
	}
}

// inside returns the node at p, which was touched, in the value of the write at a position.
func (u *update) inside(i int, p tree.Path, t touched) tree.Node {
	if t.known && !u.altered {
		return t.node
	}
	w := &u.writes[i]
	return w.Node.Get(w.Path.Rel(p))
}

// get returns the node at p after the update. before reads it as it was, and is not called if the
// update covers p.
func (u *update) get(before func(tree.Path) (tree.Node, error), p tree.Path) (tree.Node, error) {
	if i, ok := u.cover(p); ok {
		return u.writes[i].Node.Get(u.writes[i].Path.Rel(p)), nil
	}
	n, err := before(p)
	if err != nil {
		return n, err
	}
	list := u.list()
	at, _ := slices.BinarySearchFunc(list, p, func(w tree.ResolvedWrite, p tree.Path) int { return tree.ComparePaths(w.Path, p) })
	for _, w := range list[at:] {
		if !p.Contains(w.Path) {
			break
		}
		n = n.WithTarget(tree.Target{Path: p.Rel(w.Path), Priority: w.Priority}, w.Node)
	}
	return n, nil
}

// merge puts edits into the update: into the write above them if there is one. Otherwise
// they replace the writes at them and below. So do those of lists with a write of just that place.
//
// Such writes are those that agree with what follows, and those to children that lists lose. Edits are
// grouped by the write that they go into, and each group is put in at once (patch).
func (u *update) merge(edits []edit, r *run) error {
	var inside map[int][]edit
	before := len(u.writes)
	alone := make([]edit, 0, short) // in the order of paths
	for _, e := range edits {
		if i, ok := u.cover(e.path); ok && !(e.by.Kind == Keep && u.writes[i].Path == e.path) {
			if inside == nil {
				inside = make(map[int][]edit)
			}
			inside[i] = append(inside[i], e)
		} else if !e.same || e.by.Kind == Keep {
			alone = append(alone, e)
		}
	}
	sortEdits(alone)
	for i := range u.writes[:before] {
		w := &u.writes[i]
		if w.gone {
			continue
		}
		if e := covering(alone, w.Path); e != nil {
			r.lost = r.lost || loses(w, e)
			u.drop(w.Target)
		}
	}
	for i, list := range inside {
		sortEdits(list)
		w := &u.writes[i]
		r.lost = r.lost || slices.ContainsFunc(list, func(e edit) bool { return loses(w, &e) })
		w.Node = r.patch(w.Path, w.Node, list)
		u.altered = true
	}
	u.writes = slices.Grow(u.writes, len(alone))
	for _, e := range alone {
		if e.same {
			continue
		}
		if u.at != nil {
			u.at[tree.Target{Path: e.path}] = len(u.writes)
		}
		u.writes = append(u.writes, updated{ResolvedWrite: tree.ResolvedWrite{Target: tree.Target{Path: e.path}, Node: e.node}, by: e.by})
	}
	u.listed = false
	return r.err
}

// sortEdits puts edits in the order of their paths, which most are in already.
func sortEdits(list []edit) {
	if !slices.IsSortedFunc(list, func(a, b edit) int { return tree.ComparePaths(a.path, b.path) }) {
		sort.Slice(list, func(i, j int) bool { return tree.ComparePaths(list[i].path, list[j].path) < 0 })
	}
}

// loses reports whether an edit has a list lose some of what was asked for.
func loses(w *updated, e *edit) bool { return w.by == nil && e.by.Kind == Keep }

// covering returns the edit of p or of a node above it, nil if there is none. The places are disjoint,
// so it is the last one that is not behind p.
func covering(edits []edit, p tree.Path) *edit {
	i, found := slices.BinarySearchFunc(edits, p, func(e edit, p tree.Path) int { return tree.ComparePaths(e.path, p) })
	switch {
	case found:
		return &edits[i]
	case i > 0 && edits[i-1].path.Contains(p):
		return &edits[i-1]
	}
	return nil
}

// patch returns the node n at p with edits at p or below it, in the order of paths. It walks
// the children once: to put in each edit alone would copy the node each time. A leaf that was
// written above a place that holds something cannot stay: an administrator is corrected, and a
// client refused.
func (r *run) patch(p tree.Path, n tree.Node, edits []edit) tree.Node {
	if edits[0].path == p {
		return edits[0].node
	}
	if n.IsLeaf() {
		i := slices.IndexFunc(edits, func(e edit) bool { return !e.node.IsEmpty() })
		if i < 0 || !r.corrected(edits[i].by, p) { // what was written would be lost
			return n
		}
	}
	var b tree.Builder
	b.Priority(n.Priority())
	put := func(key string, child tree.Node) {
		for len(edits) > 0 {
			first, _, _ := p.Rel(edits[0].path).Cut()
			c := tree.CompareKeys(first, key)
			if key != "" && c > 0 {
				break
			}
			at := p.Child(first)
			end := slices.IndexFunc(edits, func(e edit) bool { return !at.Contains(e.path) })
			if end < 0 {
				end = len(edits)
			}
			group := edits[:end]
			edits = edits[end:]
			if key != "" && c == 0 {
				child = r.patch(at, child, group)
				break
			}
			b.Child(first, r.patch(at, tree.Empty, group))
		}
		b.Child(key, child)
	}
	for key, child := range n.Children() {
		put(key, child)
	}
	put("", tree.Empty) // what comes behind the last child
	return b.Node()
}
