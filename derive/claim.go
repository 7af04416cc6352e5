package derive

import "github.com/dogwooddb/dogwood/tree"

// A claim is a write at a place of a target, or below one.
type claim struct {
	place tree.Path
	write int // its position in Change.Writes
}

// compare compares what was written about the target of a definition with what follows. It
// returns the places that a write above them must have all the same.
func (r *run) compare(d *Definition, w *work) (list []edit) {
	for _, c := range w.claims {
		r.compareAt(d, w, c)
	}
	for _, i := range w.above {
		list = append(list, r.compareBelow(d, w, r.Writes[i])...)
	}
	return list
}

// compareAt compares a write at a place or below it.
func (r *run) compareAt(d *Definition, w *work, c claim) {
	said := r.Writes[c.write]
	var follows tree.Node
	n, derived := w.edits[c.place]
	if derived {
		follows = n.Get(c.place.Rel(said.Path))
	} else {
		var err error
		if follows, err = r.Before.Get(said.Path); r.failed(err) {
			return
		}
	}
	if said.Priority {
		follows = follows.Priority()
	}
	if follows != said.Node && !r.corrected(d, said.Path) {
		return
	}
	if follows != said.Node {
		r.update.drop(said.Target)
	}
}

// compareBelow compares a write above places of a target with what follows at them.
func (r *run) compareBelow(d *Definition, w *work, said tree.ResolvedWrite) (list []edit) {
	r.expand(d, d.target[said.Path.Len():], said.Path, said.Node, true, func(p tree.Path, written tree.Node) {
		follows, derived := w.edits[p]
		if !derived {
			var err error
			if follows, err = r.Before.Get(p); r.failed(err) {
				return
			}
		}
		switch {
		case r.look(d, p), written == follows:
			return
		case written.IsEmpty():
			r.result.Survived++
		case !r.corrected(d, p):
			return
		}
		if !derived && r.change(d, p, follows) {
			list = append(list, edit{path: p, node: follows, by: d, survives: true})
		}
	})
	return list
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
