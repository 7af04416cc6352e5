package derive

import (
	"github.com/dogwooddb/dogwood/tree"
)

// collect finds what a write touches: source nodes at it, above it and below it, and what it
// says about targets. n is the node of the trie above rest. written is the position of the
// write in Change.Writes, or -1 if it is derived and so says nothing about targets.
//
// By the source "/groups/$g/members/$u", a write at "/groups/g1/members/ana/name" touches
// "/groups/g1/members/ana", as the value of that node changes. One at "/groups/g1" touches each
// member that g1 has before or after it. It follows keys and captures of the trie: a key may be on
// the way of both.
func (r *run) collect(n *node, w tree.ResolvedWrite, rest tree.Path, written int) {
	if n == nil || r.err != nil {
		return
	}
	key, below, ok := rest.Cut()
	if n.sources != nil || n.targets != nil {
		at := ancestor(w.Path, rest)
		for _, d := range n.sources {
			r.touch(d, at, touched{w.Node, !ok && !w.Priority})
		}
		for _, d := range n.targets {
			if written >= 0 && !r.skips(d) {
				work := &r.work[d.position]
				work.claims = append(work.claims, claim{place: at, write: written})
			}
		}
	}
	if ok {
		r.collect(n.keys[key], w, below, written)
		r.collect(n.any, w, below, written)
		return
	}
	if w.Priority {
		return // of a node, not of those below it
	}
	for _, d := range n.sourcesBelow {
		r.touchBelow(d, w)
	}
	for _, d := range n.targetsBelow {
		if written >= 0 && !r.skips(d) {
			work := &r.work[d.position]
			work.above = append(work.above, written)
		}
	}
}

// touch notes a touched source node, once: a write of several paths may touch it with each. Only a
// path that covers the node makes it known, and then no other path of the write can touch it.
func (r *run) touch(d *Definition, p tree.Path, t touched) {
	if r.skips(d) || waits(r, d, p) {
		return
	}
	if to, isNew := r.work[d.position].touched.at(p); isNew {
		r.look(d, p)
		*to = t
	}
}

// touchBelow notes the source nodes below a write that were there before it or are there
// after it. Of lists and of containers that are counted whole, these are the containers.
func (r *run) touchBelow(d *Definition, w tree.ResolvedWrite) {
	if r.skips(d) {
		return
	}
	source, before := d.source, true
	switch {
	case d.Kind == Keep:
		source, before = source[:len(source)-1], false // a list that goes has no excess
	case d.whole:
		source = source[:len(source)-1]
	case d.Kind == Expire:
		before = false // what they have of nodes that go with a node above is dropped later
		if n := len(r.result.Above); (n == 0 || r.result.Above[n-1] != w.Path) && r.has(w.Path) {
			r.result.Above = append(r.result.Above, w.Path)
		}
	}
	if len(source) < w.Path.Len() { // the container is above the write; its child was touched
		return
	}
	r.expand(d, source[w.Path.Len():], w.Path, w.Node, before, func(p tree.Path, n tree.Node) { r.touch(d, p, touched{n, true}) })
}

// expand calls f for each node below p that a pattern leads to: those in n, which is
// written at p, and with before those that are stored. An empty pattern leads to p. f gets the
// node as it is in n, Empty if it is only stored. Of the store it reads keys and no values, so a
// removal of large nodes costs as much as one of small ones.
func (r *run) expand(d *Definition, pt pattern, p tree.Path, n tree.Node, before bool, f func(tree.Path, tree.Node)) {
	switch {
	case r.err != nil:
	case len(pt) == 0:
		f(p, n)
	case pt[0].key != "":
		child, at := n.Child(pt[0].key), p.Child(pt[0].key)
		stored := before && r.has(at)
		if stored || !child.IsEmpty() {
			r.expand(d, pt[1:], at, child, stored, f)
		}
	default:
		r.expandAll(d, pt, p, n, before, f)
	}
}

// expandAll is expand for a capture. A stored child that leads to no node counts as one that was
// looked at: there may be any number of them.
func (r *run) expandAll(d *Definition, pt pattern, p tree.Path, n tree.Node, before bool, f func(tree.Path, tree.Node)) {
	var seen map[string]bool
	if before && n.IsObject() {
		seen = make(map[string]bool)
	}
	for key, child := range n.Children() {
		if seen != nil {
			seen[key] = true
		}
		r.expand(d, pt[1:], p.Child(key), child, before, f)
	}
	if !before {
		return
	}
	for key, err := range r.Before.Keys(p) {
		if r.failed(err) {
			return
		}
		if seen[key] {
			continue
		}
		looked := r.looked
		if r.expand(d, pt[1:], p.Child(key), tree.Empty, true, f); r.looked == looked && r.look(d, p.Child(key)) {
			return
		}
	}
}

// has reports whether there is a stored node at p.
func (r *run) has(p tree.Path) bool {
	has, err := r.Before.Has(p)
	return !r.failed(err) && has
}
