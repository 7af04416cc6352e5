package derive

import (
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// An update is what was written, with what follows put into it. Its writes are disjoint at
// any time.
type update struct {
	writes []tree.ResolvedWrite
	gone   []bool                    // of writes: an edit has replaced it
	at     map[tree.Target]int       // where writes are that are not gone
	by     map[tree.Path]*Definition // of writes that follow
	sorted []tree.ResolvedWrite
}

// An edit is a value that a place gets.
type edit struct {
	path     tree.Path
	node     tree.Node
	by       *Definition
	same     bool // as what is stored
	survives bool // it only is in the update because a write above left it out
}

func newUpdate(writes []tree.ResolvedWrite) *update {
	u := &update{writes: slices.Clone(writes), gone: make([]bool, len(writes)), at: make(map[tree.Target]int, len(writes)), by: make(map[tree.Path]*Definition)}
	for i, w := range writes {
		u.at[w.Target] = i
	}
	return u
}

// list returns the writes, in the order of paths.
func (u *update) list() []tree.ResolvedWrite {
	if u.sorted != nil {
		return u.sorted
	}
	u.sorted = make([]tree.ResolvedWrite, 0, len(u.writes))
	for i, w := range u.writes {
		if !u.gone[i] {
			u.sorted = append(u.sorted, w)
		}
	}
	slices.SortFunc(u.sorted, func(a, b tree.ResolvedWrite) int { return tree.ComparePaths(a.Path, b.Path) })
	return u.sorted
}

// drop takes a write out.
func (u *update) drop(t tree.Target) {
	if i, ok := u.at[t]; ok {
		u.gone[i], u.sorted = true, nil
		delete(u.at, t)
	}
}

// put gives a write another value.
func (u *update) put(t tree.Target, n tree.Node) {
	if i, ok := u.at[t]; ok {
		u.writes[i].Node, u.sorted = n, nil
	}
}

// cover returns the position of the write at p or above it.
func (u *update) cover(p tree.Path) (i int, ok bool) {
	for {
		if i, ok := u.at[tree.Target{Path: p}]; ok {
			return i, true
		}
		if p.IsRoot() {
			return 0, false
		}
		p, _ = p.Parent()
	}
}

// get returns the node at p after the update. before reads it as it was.
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
// they replace the writes at them and below.
func (u *update) merge(edits []edit, r *run) error {
	inside := make(map[int][]edit)
	alone := make(map[tree.Path]bool)
	for _, e := range edits {
		if i, ok := u.cover(e.path); ok {
			inside[i] = append(inside[i], e)
		} else if !e.same || e.by.Kind == Keep {
			alone[e.path] = true
		}
	}
	for i, w := range u.writes {
		if !u.gone[i] && len(alone) > 0 && coveredBy(alone, w.Path) {
			u.drop(w.Target)
		}
	}
	for _, e := range edits {
		if alone[e.path] && !e.same {
			u.at[tree.Target{Path: e.path}] = len(u.writes)
			u.writes = append(u.writes, tree.ResolvedWrite{Target: tree.Target{Path: e.path}, Node: e.node})
			u.gone = append(u.gone, false)
			u.by[e.path] = e.by
		}
	}
	for i, list := range inside {
		slices.SortFunc(list, func(a, b edit) int { return tree.ComparePaths(a.path, b.path) })
		u.writes[i].Node = r.patch(u.writes[i].Path, u.writes[i].Node, list)
	}
	u.sorted = nil
	return r.err
}

// coveredBy reports whether p is one of the paths or below one.
func coveredBy(paths map[tree.Path]bool, p tree.Path) bool {
	for !paths[p] {
		if p.IsRoot() {
			return false
		}
		p, _ = p.Parent()
	}
	return true
}

// patch returns the node n at p with edits at p or below it, in the order of paths. It walks
// the children once: to put in each edit alone would copy the node each time.
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
