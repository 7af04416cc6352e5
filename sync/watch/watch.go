// Package watch notices whether what a decision on a snapshot has read is written while the
// decision is made. It has no lock: a [Set] and its watches belong to whoever guards the order
// of commits.
package watch

import (
	"iter"

	"github.com/dogwooddb/dogwood/tree"
)

// Bounds of a watch. Beyond maxWritten it is as if something had changed; of more than
// maxNoted paths that were read, those above them are noted. Beyond maxMeets comparisons of
// one with the other, it is also as if something had changed.
const (
	maxWritten = 16 << 10
	maxNoted   = 64
	maxMeets   = 64 << 10
)

// A Set is the watches that go on.
type Set map[*Watch]struct{}

// A Watch tells whether something was written, since a snapshot, that a decision on this
// snapshot has read.
type Watch struct {
	written []tree.Path // until it is known what was read
	settled bool
	reads   []tree.Path // afterwards
	changed bool
}

// Begin begins to watch.
func (s Set) Begin() *Watch {
	w := new(Watch)
	s[w] = struct{}{}
	return w
}

// End ends a watch.
func (s Set) End(w *Watch) { delete(s, w) }

// Touch tells the watchers what is written. That a batch may not be committed does
// not matter: then a decision is made once more.
func (s Set) Touch(writes []tree.ResolvedWrite) {
	for w := range s {
		for i := 0; i < len(writes) && !w.changed; i++ {
			switch p := writes[i].Path; {
			case w.settled:
				w.changed = meet(w.reads, p)
			case len(w.written) == maxWritten:
				w.changed, w.written = true, nil
			default:
				w.written = append(w.written, p)
			}
		}
	}
}

// Settle says what was read.
func (w *Watch) Settle(reads []tree.Path) {
	for _, p := range w.written {
		w.changed = w.changed || meet(reads, p)
	}
	w.settled, w.reads, w.written = true, reads, nil
}

// Changed reports whether something that was read may have changed. Before Settle it says
// so only if too much was written to tell.
func (w *Watch) Changed() bool { return w.changed }

// Meets reports whether anything that was written since the snapshot may change what was
// read. It takes for changed what would take long to compare.
func (w *Watch) Meets(reads []tree.Path) bool {
	if w.changed || len(w.written)*len(reads) > maxMeets {
		return true
	}
	for _, p := range w.written {
		if meet(reads, p) {
			return true
		}
	}
	return false
}

// meet reports whether a write at p may change what was read.
func meet(reads []tree.Path, p tree.Path) bool {
	for _, r := range reads {
		if r.Contains(p) || p.Contains(r) {
			return true
		}
	}
	return false
}

// ChildrenOf returns the children of p that were written. ok is false if there are more
// than most, or p was written as a whole.
func (w *Watch) ChildrenOf(p tree.Path, most int) (keys map[string]bool, ok bool) {
	if w.changed {
		return nil, false
	}
	for _, written := range w.written {
		switch {
		case written.Contains(p):
			return nil, false
		case !p.Contains(written):
			continue
		}
		key, _, _ := p.Rel(written).Cut()
		if keys == nil {
			keys = make(map[string]bool)
		}
		if keys[key] = true; len(keys) > most {
			return nil, false
		}
	}
	return keys, true
}

// A Tree is read by a Reader.
type Tree interface {
	tree.Reader
	Count(p tree.Path, q tree.Query) (int, error)
}

// A Reader notes what is read.
type Reader struct {
	Tree
	noted map[tree.Path]struct{}
	depth int // of the paths that are noted at most; 0: any
}

// Note notes that what is at a path was read.
func (r *Reader) Note(p tree.Path) {
	if r.noted == nil {
		r.noted = make(map[tree.Path]struct{})
		r.depth = tree.MaxDepth
	}
	r.noted[above(p, r.depth)] = struct{}{}
	for len(r.noted) > maxNoted {
		r.depth--
		fewer := make(map[tree.Path]struct{})
		for p := range r.noted {
			fewer[above(p, r.depth)] = struct{}{}
		}
		r.noted = fewer
	}
}

// above returns the path of at most depth keys at or above p.
func above(p tree.Path, depth int) tree.Path {
	for p.Len() > depth {
		p, _ = p.Parent()
	}
	return p
}

// Paths returns what was read, or what is above it.
func (r *Reader) Paths() (list []tree.Path) {
	for p := range r.noted {
		list = append(list, p)
	}
	return list
}

// Get is that of a tree.Reader.
func (r *Reader) Get(p tree.Path) (tree.Node, error) {
	r.Note(p)
	return r.Tree.Get(p)
}

// Has is that of a tree.Reader.
func (r *Reader) Has(p tree.Path) (bool, error) {
	r.Note(p)
	return r.Tree.Has(p)
}

// Peek is that of a tree.Reader.
func (r *Reader) Peek(p tree.Path) (tree.Node, bool, error) {
	r.Note(p)
	return r.Tree.Peek(p)
}

// Count is that of a Tree.
func (r *Reader) Count(p tree.Path, q tree.Query) (int, error) {
	r.Note(p)
	return r.Tree.Count(p, q)
}

// Priority is that of a tree.Reader.
func (r *Reader) Priority(p tree.Path) (tree.Node, error) {
	r.Note(p)
	return r.Tree.Priority(p)
}

// Keys is that of a tree.Reader.
func (r *Reader) Keys(p tree.Path) iter.Seq2[string, error] {
	r.Note(p)
	return r.Tree.Keys(p)
}
