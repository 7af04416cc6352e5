package kv

import (
	"bytes"
	"errors"
)

// ErrDraft is returned for the commit of a draft.
var ErrDraft = errors.New("a draft cannot be committed")

// NewDraft returns a transaction whose writes stay in memory, in front of a snapshot.
// It cannot be committed, and its end does not end the snapshot. interrupt is called now
// and then; an error ends what is going on.
func NewDraft(base Tx, interrupt func() error) Tx {
	return &draftTx{base: base, interrupt: interrupt}
}

// A draftTx is the entries that a draft has put or deleted, in front of those of a
// snapshot. An entry without a value is deleted.
type draftTx struct {
	base      Tx
	interrupt func() error
	own       [len(Buckets)]memTree // nil: nothing in the bucket was changed
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
	if own := t.own[bucketSlots[b]]; own != nil {
		if item, ok := own.Get(memItem{key: key}); ok {
			return item.value, nil
		}
	}
	return t.base.Get(b, key)
}

func (t *draftTx) Put(b Bucket, key, value []byte) error { return t.set(b, newItem(key, value)) }

func (t *draftTx) Delete(b Bucket, key []byte) error {
	return t.set(b, memItem{key: bytes.Clone(key)})
}

func (t *draftTx) set(b Bucket, item memItem) error {
	own := &t.own[bucketSlots[b]]
	if *own == nil {
		*own = newMemTree()
	}
	(*own).Set(item)
	return t.step()
}

func (t *draftTx) Dense()        {}
func (t *draftTx) Commit() error { return ErrDraft }
func (t *draftTx) Rollback()     {} // the snapshot is that of another Tx

func (t *draftTx) Cursor(b Bucket) Cursor {
	base := t.base.Cursor(b)
	if own := t.own[bucketSlots[b]]; own != nil {
		return newMerged(base, t.step, own)
	}
	return base
}
