package derive

import "github.com/dogwooddb/dogwood/tree"

// A claim is a write at a place of a target, or below one. It says what is at the place, or at a
// part of it. Claims are compared with what follows when all touches are known: a client may
// write both sides of an inverse index in one update, in any order.
type claim struct {
	place tree.Path
	write int // its position in Change.Writes
}

// compare compares what was written about the target of a definition with what follows. A client that
// says something else is refused, and an administrator corrected. It notes the places that a write above them must have all the same.
func (r *run) compare(d *Definition, w *work) {
	for _, c := range w.claims {
		r.compareAt(d, w, c)
	}
	for _, i := range w.above {
		r.compareBelow(d, w, r.Writes[i])
	}
}

// compareAt compares a write at a place or below it. If no touched node says anything about the
// place, it has to stay as it is, since Change.Before agrees with the definition. Derived values have
// no priority: to set one contradicts the definition, and to remove one does not.
func (r *run) compareAt(d *Definition, w *work, c claim) {
	said := r.Writes[c.write]
	var follows tree.Node
	x, derived := w.edits.get(c.place)
	if derived {
		follows = x.node.Get(c.place.Rel(said.Path))
	} else {
		var err error
		if follows, err = r.Before.Get(said.Path); r.failed(err) {
			return
		}
	}
	if said.Priority {
		follows = follows.Priority()
	}
	switch {
	case follows == said.Node:
	case said.Path == c.place && !said.Priority && d.saysNothing(said.Node, follows):
		r.update.put(said.Target, tree.Empty) // rules are still asked whether it may be written
	case r.Admin:
		r.result.Kept++
		r.update.drop(said.Target)
	case early(r, d, said.Path, derived):
		r.result.Kept++
		r.update.put(said.Target, follows) // rules are still asked
	default:
		r.failed(kept(d, said.Path))
	}
}

// early reports whether what a client says about a place may well be right, since the definition is not
// built yet. derived says that touched nodes have determined the value: that is right already, unless it
// also depends on nodes that building has not come to. p is no source, so Behind cannot say
// whether building has passed it: only asked counts here.
func early(r *run, d *Definition, p tree.Path, derived bool) bool {
	if r.Admin || r.Behind == nil || derived && !d.incremental() {
		return false
	}
	_, building := r.Behind(d, p)
	r.result.Progress = r.result.Progress || building
	return building
}

// saysNothing reports whether a 0 is written at a place of a count or sum that is absent, since
// nothing counts for it. Clients that keep counters of their own begin with 0 and come down to
// it, so that is no contradiction. It is not stored.
func (d *Definition) saysNothing(written, follows tree.Node) bool {
	return (d.Kind == Count || d.Kind == Sum) && follows.IsEmpty() && written == tree.Number(0)
}

// compareBelow compares a write above places of a target with what follows at them. These are the
// places in the value that is written and those that are stored. To leave a place out is no
// contradiction, since the place survives the write: a client need not know what is kept below a
// node to replace it. Only a different value is refused, or corrected.
func (r *run) compareBelow(d *Definition, w *work, said tree.ResolvedWrite) {
	r.expand(d, d.target[said.Path.Len():], said.Path, said.Node, true, func(p tree.Path, written tree.Node) {
		x, derived := w.edits.get(p)
		follows := x.node
		if !derived {
			var err error
			if follows, err = r.Before.Get(p); r.failed(err) {
				return
			}
		}
		nothing := d.saysNothing(written, follows)
		switch {
		case r.look(d, p), written == follows:
			return
		case nothing:
		case written.IsEmpty():
			r.result.Survived++
		case early(r, d, p, derived):
			r.result.Kept++
		case !r.corrected(d, p):
			return
		}
		if !derived && (nothing || r.change(d, p, follows)) {
			r.edited = append(r.edited, edit{path: p, node: follows, by: d, survives: true})
		}
	})
}

// corrected notes that what follows replaces what was said about a place. It reports whether
// it may: a client is refused.
func (r *run) corrected(d *Definition, p tree.Path) bool {
	if !r.Admin {
		r.failed(kept(d, p))
		return false
	}
	r.result.Kept++
	return true
}
