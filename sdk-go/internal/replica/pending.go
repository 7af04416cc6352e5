package replica

import (
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// Put makes a write visible. Its locations are disjoint.
func (r *Replica) Put(writes []tree.ResolvedWrite) *Write {
	w := newWrite(writes)
	r.writes = append(r.writes, w)
	r.showTouched(w)
	return w
}

// Acknowledged says that the server has carried out a write, and has told the
// sources that are complete.
func (r *Replica) Acknowledged(w *Write) {
	w.acked = true
	for _, one := range w.writes {
		for _, s := range r.sources.overlapping(one.Path) {
			if !s.current && !slices.Contains(w.after, s) {
				w.after = append(w.after, s)
			}
		}
	}
	r.prune()
	r.showTouched(w)
}

// Denied says that the server has not carried out a write.
func (r *Replica) Denied(w *Write) {
	r.writes = slices.DeleteFunc(r.writes, func(have *Write) bool { return have == w })
	r.showTouched(w)
}

// prune forgets acknowledged writes that no source needs any more.
func (r *Replica) prune() {
	r.writes = slices.DeleteFunc(r.writes, func(w *Write) bool {
		w.after = slices.DeleteFunc(w.after, func(s *Source) bool { return s.current || s.gone })
		return w.acked && len(w.after) == 0
	})
}
