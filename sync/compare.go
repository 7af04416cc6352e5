package sync

import (
	"errors"

	"github.com/dogwooddb/dogwood/rules"
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

// errUnprepared is the error of a conditional write whose value is too large to be
// compared in the committer, and is not known as it is now.
var errUnprepared = errors.New("the condition must be prepared again")

// mostCompared returns how large a value may be that a caller's condition is about.
func (wr *writer) mostCompared(c Caller) int64 {
	most := int64(maxCompared)
	if c.Admin {
		most = maxComparedAdmin
	}
	return min(most, wr.db.options.MaxRead)
}

// mayCompareFor decides whether a write may depend on its condition, and reports
// whether there is one to compare. The outcome tells what the value is, so that needs
// the permission to read, whether the condition holds or not.
//
// Whether there is anything is another matter: rules often let a caller create what the
// caller can only read once it is there. So without the permission to read, a write may
// still depend on there being nothing.
func (b *batch) mayCompareFor(w *Write) (compares bool, err error) {
	if w.If == nil {
		return false, nil
	}
	t := w.Update[0].Target
	err = b.authorizeRead(w.Caller, t.Path)
	if err == nil || *w.If != "" || !errors.Is(err, ErrDenied) {
		return true, err
	}
	switch exists, failed := b.exists(t); {
	case failed != nil:
		return false, broken(failed)
	case exists:
		return false, err
	}
	return false, nil
}

// exists reports whether there is anything at a target, without reading it.
func (b *batch) exists(t tree.Target) (bool, error) {
	if t.Priority {
		n, err := b.tx.Priority(t.Path)
		return !n.IsEmpty(), err
	}
	return b.tx.Has(t.Path)
}

// compare checks the condition of a write whose caller may read the value.
func (b *batch) compare(w *Write) error {
	t := w.Update[0].Target
	if t.Priority {
		n, err := b.tx.Priority(t.Path)
		if err != nil || n.MatchesHash(*w.If) {
			return broken(err)
		}
		return &StaleError{Current: n, known: true}
	}
	most := b.db.mostCompared(w.Caller)
	if f := b.hashes.find(t.Path); f != nil && f.answers(most, b.rules) {
		return f.decide(w, most, &StaleError{})
	}
	return b.compareNow(w, most)
}

// decide is the outcome of the condition of a write; stale is that of a value that
// differs.
func (f *fingerprint) decide(w *Write, most int64, stale *StaleError) error {
	switch {
	case f.over || f.size > most:
		return ErrTooBig
	case f.excess != nil && !w.Caller.Admin:
		return &UnboundedError{f.excess}
	case !f.matches(*w.If):
		return stale
	}
	return nil
}

// compareNow reads and hashes the value that a condition is about. In the committer
// it reads a small one only.
func (b *batch) compareNow(w *Write, most int64) error {
	limit := min(most, comparedAtOnce)
	if b.apart {
		limit = most
	}
	p := w.Update[0].Path
	n, err := b.tx.GetLimit(p, limit)
	switch {
	case errors.Is(err, store.ErrTooBig) && limit < most:
		return errUnprepared
	case errors.Is(err, store.ErrTooBig):
		return ErrTooBig
	case err != nil:
		return broken(err)
	}
	f := newFingerprint(p, n)
	if err := f.bound(b.rules, b.tx); err != nil {
		return broken(err)
	}
	if f.size >= rememberedFrom {
		b.remember(f)
	}
	return f.decide(w, most, &StaleError{Current: n, known: true})
}

// bound compares the value with the limits of the rules.
func (f *fingerprint) bound(rs *rules.Ruleset, tx *store.Tx) (err error) {
	f.rules = rs
	f.excess, err = rs.Excess(tx, f.path, tree.Query{}, false)
	return err
}

// remember keeps the fingerprint of a value of this transaction, unless that is
// rolled back.
func (b *batch) remember(f *fingerprint) {
	f.path = ownPath(f.path) // not the text of a message
	h := &b.hashes
	h.watch(f)
	h.keep(f)
	b.undo = append(b.undo, func() { h.drop(f) })
}
