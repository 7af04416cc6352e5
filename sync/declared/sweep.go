package declared

import (
	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/kept"
)

// A Sweep deletes the timers of nodes that went with a node above them. A write does not look for
// those: there may be any number of them. Without a sweep they would stay until they are due,
// which clients choose. The zero Sweep has nothing to look at; it costs about as much as the writes that
// it follows. It is in memory: after a start, all timers are swept once.
//
// It belongs to the committer. Step returns the next Sweep instead of changing this one, so a
// transaction that fails leaves the sweep where it was. To look at a timer twice is harmless.
type Sweep struct {
	paths []tree.Path // below which timers may be without their nodes
	id    kept.ID     // of the definition whose timers below the first path are looked at; 0: none yet
	after tree.Path   // the last of them that was looked at
}

// maxSwept is how many paths a sweep keeps. Of more, it looks at everything.
const maxSwept = 1_000

// Add has timers below paths looked at. A path below the last one is left out, unless that is the
// first: the sweep may have passed the new path there already.
func (s *Sweep) Add(paths ...tree.Path) {
	for _, p := range paths {
		switch n := len(s.paths); {
		case n > 1 && s.paths[n-1].Contains(p):
		case n == maxSwept:
			s.paths = append(s.paths[:1:1], tree.Root) // behind the one that it is at
		default:
			s.paths = append(s.paths, p.Clone())
		}
	}
}

// Some reports whether there is something to look at.
func (s *Sweep) Some() bool { return len(s.paths) > 0 }

// Step looks at some timers. It returns the sweep that goes on from there, and whether it has
// deleted any. A definition without timers below a path counts as a timer, so that many
// definitions and paths do not make a step longer. It asks for each whether its node is there,
// since a node may have come again meanwhile, with a time of its own.
func (s Sweep) Step(tx *store.Tx, d *Data, timers int) (left Sweep, changed bool, err error) {
	rows := store.Kept(tx)
	for timers > 0 && s.Some() {
		if s.id == 0 && !s.next(d) {
			s.paths = s.paths[1:]
			continue
		}
		list, err := rows.Below(s.id, s.paths[0], s.after, timers)
		if err != nil {
			return s, changed, err
		}
		for _, t := range list {
			has, err := tx.Has(t.Path)
			if err == nil && !has {
				changed = true
				_, err = rows.SetTimer(kept.Timer{ID: t.ID, Path: t.Path})
			}
			if err != nil {
				return s, changed, err
			}
			s.after = t.Path
		}
		if timers -= len(list) + 1; timers >= 0 && !s.next(d) {
			s.paths = s.paths[1:]
		}
	}
	return s, changed, nil
}

// next goes on to the definition behind s.id that has nodes expire, or reports that there is none.
func (s *Sweep) next(d *Data) bool {
	next := kept.ID(0)
	if d == nil {
		return false
	}
	for _, def := range d.Document().Definitions() {
		if id := d.states[def].ID; def.Kind == derive.Expire && id > s.id && (next == 0 || id < next) {
			next = id
		}
	}
	s.id, s.after = next, tree.Root
	return next != 0
}
