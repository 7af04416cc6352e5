package kv

import "errors"

// ErrDraft is returned for the commit of a draft.
var ErrDraft = errors.New("a draft cannot be committed")

// NewDraft returns a transaction whose writes stay in memory, in front of a snapshot.
// It cannot be committed, and its end does not end the snapshot. interrupt is called now
// and then; an error ends what is going on.
func NewDraft(base Tx, interrupt func() error) Tx {
	t := &draftTx{interrupt: interrupt}
	t.Layered = Layered{base, []*Layer{&t.own}}
	return t
}

// A draftTx is the entries that a draft has put or deleted, in front of those of a
// snapshot.
type draftTx struct {
	Layered
	own       Layer
	interrupt func() error
	steps     int
}

// step calls interrupt now and then.
func (t *draftTx) step() error {
	t.steps++
	if t.steps%1024 == 0 {
		return t.interrupt()
	}
	return nil
}

func (t *draftTx) Get(b Bucket, key []byte) ([]byte, error) {
	if err := t.step(); err != nil {
		return nil, err
	}
	return t.Layered.Get(b, key)
}

func (t *draftTx) Put(b Bucket, key, value []byte) error {
	t.own.Put(b, key, value)
	return t.step()
}

func (t *draftTx) Delete(b Bucket, key []byte) error {
	t.own.Delete(b, key)
	return t.step()
}

func (t *draftTx) Cursor(b Bucket) Cursor { return t.Layered.Cursor(b, t.step) }
func (t *draftTx) Dense()                 {}
func (t *draftTx) Commit() error          { return ErrDraft }
func (t *draftTx) Rollback()              {} // the snapshot is that of another Tx
