package sync

import (
	"iter"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A watch tells whether something was written, since a snapshot, that a decision on this
// snapshot has read. The committer tells it what is written; the database's mu guards it.
type watch struct {
	written []tree.Path // until it is known what was read
	settled bool
	reads   []tree.Path // afterwards
	changed bool
}

// Bounds of a watch. Beyond maxWritten it is as if something had changed; of more than
// maxNoted paths that were read, those above them are noted. Beyond maxMeets comparisons of
// one with the other, it is also as if something had changed.
const (
	maxWritten = 16 << 10
	maxNoted   = 64
	maxMeets   = 64 << 10
)

// watchedSnapshot begins a read transaction, and to watch what is written after it.
func (a *audience) watchedSnapshot() (*store.Tx, *watch, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.watched()
}

// watched is watchedSnapshot with d.mu held.
func (a *audience) watched() (*store.Tx, *watch, error) {
	tx, err := a.db.begin()
	if err != nil {
		return nil, nil, err
	}
	w := new(watch)
	a.watches[w] = struct{}{}
	return tx, w, nil
}

// settle says what was read.
func (a *audience) settle(w *watch, reads []tree.Path) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.settled, w.reads = true, reads
	for _, p := range w.written {
		w.changed = w.changed || w.depends(p)
	}
	w.written = nil
}

func (a *audience) unwatch(w *watch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.watches, w)
}

// depends reports whether a write at p may change what was read.
func (w *watch) depends(p tree.Path) bool {
	for _, r := range w.reads {
		if r.Contains(p) || p.Contains(r) {
			return true
		}
	}
	return false
}

// meets reports whether anything that was written since the snapshot may change what was
// read. It takes for changed what would take long to compare.
func (w *watch) meets(reads []tree.Path) bool {
	if w.changed || len(w.written)*len(reads) > maxMeets {
		return true
	}
	for _, p := range w.written {
		for _, r := range reads {
			if r.Contains(p) || p.Contains(r) {
				return true
			}
		}
	}
	return false
}

// touch tells those who watch what is written. That a batch may not be committed does
// not matter: then a decision is made once more.
func (b *batch) touch(writes []tree.ResolvedWrite) {
	for w := range b.db.watches {
		for i := 0; i < len(writes) && !w.changed; i++ {
			switch p := writes[i].Path; {
			case w.settled:
				w.changed = w.depends(p)
			case len(w.written) == maxWritten:
				w.changed, w.written = true, nil
			default:
				w.written = append(w.written, p)
			}
		}
	}
}

// A notingReader notes what is read.
type notingReader struct {
	tree.Reader
	noted map[tree.Path]struct{}
	depth int // of the paths that are noted at most; 0: any
}

func (r *notingReader) note(p tree.Path) {
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

// paths returns what was read, or what is above it.
func (r *notingReader) paths() (list []tree.Path) {
	for p := range r.noted {
		list = append(list, p)
	}
	return list
}

// The methods below are those of a tree.Reader.

func (r *notingReader) Get(p tree.Path) (tree.Node, error) {
	r.note(p)
	return r.Reader.Get(p)
}

func (r *notingReader) Has(p tree.Path) (bool, error) {
	r.note(p)
	return r.Reader.Has(p)
}

func (r *notingReader) Peek(p tree.Path) (tree.Node, bool, error) {
	r.note(p)
	return r.Reader.Peek(p)
}

func (r *notingReader) Priority(p tree.Path) (tree.Node, error) {
	r.note(p)
	return r.Reader.Priority(p)
}

func (r *notingReader) Keys(p tree.Path) iter.Seq2[string, error] {
	r.note(p)
	return r.Reader.Keys(p)
}
