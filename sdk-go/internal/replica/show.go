package replica

import "github.com/dogwooddb/dogwood/tree"

// show makes the views that overlap with p again, where something has changed,
// but for large ones.
func (r *Replica) show(p tree.Path) {
	for _, v := range r.views.overlapping(p) {
		if !v.postpone() {
			v.show(r.recompute(v, p))
		}
	}
}

func (r *Replica) showAll(views []*View) {
	for _, v := range views {
		v.show(r.compute(v))
	}
}

// showTouched makes the views that overlap with a write again, but for large ones.
func (r *Replica) showTouched(w *Write) {
	if len(w.writes) == 1 {
		r.show(w.writes[0].Path)
		return
	}
	touched := make(map[*View]bool)
	for _, one := range w.writes {
		for _, v := range r.views.overlapping(one.Path) {
			if !touched[v] {
				touched[v] = true
				if !v.postpone() {
					v.show(r.compute(v))
				}
			}
		}
	}
}

// recompute is compute for a view that has changed at p only. If p is inside of one
// child, that is far cheaper than making a large view again, as
// BenchmarkWriteIntoLargeView shows.
func (r *Replica) recompute(v *View, p tree.Path) State {
	s, old := v.source, v.state.Node
	if !s.complete || !s.isWhole() || !v.Query.IsAll() || !v.Path.Contains(p) || !isPlain(old) {
		return r.compute(v)
	}
	changes, _ := r.changes(v.Path, s)
	if len(changes) == 0 {
		return r.compute(v) // which is what the source has: nothing is copied
	}
	key, _, below := v.Path.Rel(p).Cut()
	base, _ := s.at(v.Path)
	byKey, ok := group(changes)
	if !below || !ok || !isPlain(base) {
		return r.compute(v)
	}
	n := old.With(tree.Root.Child(key), overlay(base.Child(key), byKey[key]))
	if !isPlain(n) {
		return r.compute(v)
	}
	return State{n, true}
}

// isPlain reports whether each child of a node stands for itself: whether it
// comes or goes does not matter to the others, or to a priority.
func isPlain(n tree.Node) bool { return n.IsObject() && n.Priority().IsEmpty() }

// compute returns what a view shows: its source with the pending writes over it. Of a view with
// a filter it is the source alone, since whether a write makes a child match is not known here.
func (r *Replica) compute(v *View) State {
	s := v.source
	base, whole := s.at(v.Path)
	if s.Query.Filter != nil {
		return State{base, s.complete}
	}
	changes, covers := r.changes(v.Path, s)
	if whole || covers > 0 {
		return State{v.Query.Apply(overlay(base, changes)), true}
	}
	return State{v.Query.Apply(overlayPart(base, changes)), s.complete}
}

// changes returns the writes that views of a source show, as seen from p.
func (r *Replica) changes(p tree.Path, s *Source) (list []change, covers int) {
	for _, w := range r.writes {
		if !w.shownOver(s) {
			continue
		}
		if parts := w.at(p); len(parts) > 0 {
			more, c := seen(parts, p)
			if c > 0 {
				covers = len(list) + c
			}
			list = append(list, more...)
		}
	}
	return list, covers
}
