package sync

import (
	"errors"

	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/fingerprint"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Bounds of the value that a condition is about. A value that is larger than
// comparedAtOnce is read and hashed before the write is queued; the committer only
// looks whether a write has touched it since.
const (
	maxCompared      = 4 << 20  // of callers that the rules apply to
	maxComparedAdmin = 16 << 20 // of administrators: what fits into one message
	comparedAtOnce   = 16 << 10 // in the committer
	rememberedFrom   = 1 << 10  // a smaller one is hashed as fast as it is found
)

// mostCompared returns how large a value may be that a caller's condition is about.
func (d *core) mostCompared(c Caller) int64 {
	most := int64(maxCompared)
	if c.Admin {
		most = maxComparedAdmin
	}
	return min(most, d.options.MaxRead)
}

// mayCompareFor decides whether a write may depend on its condition, and reports
// whether there is one to compare. The outcome tells what the value is, so that needs
// the permission to read, whether the condition holds or not.
//
// Whether there is anything is another matter: rules often let a caller create what the
// caller can only read once it is there. So without the permission to read, a write may
// still depend on there being nothing. It leaves what it wrote behind. An explained one
// would tell anybody, again and again, whether there is something, so it is explained as if
// there were nothing.
func (b *batch) mayCompareFor(w *Write) (compares bool, err error) {
	if w.If == nil {
		return false, nil
	}
	t := w.Update[0].Target
	err = b.authorizeRead(access.Whole(w.Caller, t.Path, w.Door == DoorREST))
	if err == nil || *w.If != "" || !errors.Is(err, fault.ErrDenied) {
		return true, err
	}
	if b.Apart {
		return false, nil
	}
	switch exists, failed := b.exists(t); {
	case failed != nil:
		return false, fault.Broken(failed)
	case exists:
		return false, err
	}
	return false, nil
}

// exists reports whether there is anything at a target, without reading it.
func (b *batch) exists(t tree.Target) (bool, error) {
	if t.Priority {
		n, err := b.Tx.Priority(t.Path)
		return !n.IsEmpty(), err
	}
	return b.Tx.Has(t.Path)
}

// compare checks the condition of a write whose caller may read the value.
//
// A value that is small is read here. For a large one only the fingerprint that
// was made before counts.
func (b *batch) compare(w *Write) error {
	t := w.Update[0].Target
	if t.Priority {
		n, err := b.Tx.Priority(t.Path)
		if err != nil || n.MatchesHash(*w.If) {
			return fault.Broken(err)
		}
		return &fault.StaleError{Current: n, Known: true}
	}
	most := b.db.mostCompared(w.Caller)
	if f := b.hashes.Find(t.Path); f != nil && f.Answers(most, b.Rules) {
		return f.Decide(*w.If, w.Caller.Admin, most, &fault.StaleError{})
	}
	return b.compareNow(w, most)
}

// compareNow reads and hashes the value that a condition is about. In the committer
// it reads a small one only.
func (b *batch) compareNow(w *Write, most int64) error {
	limit := min(most, comparedAtOnce)
	if b.Apart {
		limit = most
	}
	p := w.Update[0].Path
	n, err := b.Tx.GetLimit(p, limit)
	switch {
	case errors.Is(err, store.ErrTooBig) && limit < most:
		return errUnprepared
	case errors.Is(err, store.ErrTooBig):
		return fault.ErrTooBig
	case err != nil:
		return fault.Broken(err)
	}
	f := &fingerprint.Fingerprint{Path: p}
	if err := f.Set(n, b.Tx, b.Rules); err != nil {
		return fault.Broken(err)
	}
	if len(n.Text()) >= rememberedFrom {
		b.remember(f)
	}
	return f.Decide(*w.If, w.Caller.Admin, most, &fault.StaleError{Current: n, Known: true})
}

// remember keeps the fingerprint of a value of this transaction, unless that is
// rolled back.
func (b *batch) remember(f *fingerprint.Fingerprint) {
	f.Path = f.Path.Clone() // not the text of a message
	h := b.hashes
	h.Watch(f)
	h.Keep(f)
	b.Undo = append(b.Undo, func() { h.Drop(f) })
}

// once carries out a write of a caller unless that was done before. What is refused is
// not put on record: sent again, it is decided like any other write.
func (b *batch) once(id store.WriteID, c Caller, carryOut func() error) error {
	id.Writer = writerOf(id.Writer, c)
	done, err := b.Tx.Dedup().Has(id)
	if done || err != nil {
		return fault.Broken(err)
	}
	b.notes.begin(id)
	err = carryOut()
	b.notes.end(err == nil)
	if err != nil {
		return err
	}
	b.dirty = true // also if the write changed nothing
	return fault.Broken(b.Tx.Dedup().Record(id, b.time()))
}
