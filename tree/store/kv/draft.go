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
		if item, ok := own.Get(memItem{key: string(key)}); ok {
			return item.value, nil
		}
	}
	return t.base.Get(b, key)
}

func (t *draftTx) Put(b Bucket, key, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return t.set(b, memItem{string(key), value})
}

func (t *draftTx) Delete(b Bucket, key []byte) error { return t.set(b, memItem{key: string(key)}) }

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
	base, own := t.base.Cursor(b), &t.own[bucketSlots[b]]
	if *own == nil {
		return base
	}
	return &draftCursor{tx: t, base: base, own: memCursor{tree: own}}
}

// A draftCursor seeks for every step: that is simple, and drafts walk little behind
// their writes.
type draftCursor struct {
	tx     *draftTx
	base   Cursor
	own    memCursor
	at     []byte
	failed error
}

func (c *draftCursor) Seek(key []byte) (k, v []byte) {
	for c.step() {
		k, v = c.base.Seek(key)
		own, value := c.own.Seek(key)
		if c.base.Err() != nil || own == nil && k == nil {
			return nil, nil
		}
		if own == nil || k != nil && bytes.Compare(k, own) < 0 {
			return c.take(k, v)
		}
		if value != nil {
			return c.take(own, value)
		}
		key = append(own, 0) // deleted
	}
	return nil, nil
}

func (c *draftCursor) Next() (k, v []byte) { return c.Seek(append(c.at, 0)) }

func (c *draftCursor) Last() (k, v []byte) {
	k, v = c.base.Last()
	own, value := c.own.Last()
	return c.descend(k, v, own, value)
}

func (c *draftCursor) Prev() (k, v []byte) {
	k, v = c.before(c.at)
	c.own.at = string(c.at)
	own, value := c.own.Prev()
	return c.descend(k, v, own, value)
}

// descend returns the greater one of two entries, or if that is deleted, the one
// before it.
func (c *draftCursor) descend(k, v, own, value []byte) (_, _ []byte) {
	for c.step() {
		if c.base.Err() != nil || own == nil && k == nil {
			return nil, nil
		}
		if own == nil || k != nil && bytes.Compare(k, own) > 0 {
			return c.take(k, v)
		}
		if value != nil {
			return c.take(own, value)
		}
		k, v = c.before(own)
		own, value = c.own.Prev()
	}
	return nil, nil
}

// before returns the last entry of the snapshot before a key.
func (c *draftCursor) before(key []byte) (k, v []byte) {
	if k, _ = c.base.Seek(key); k != nil {
		return c.base.Prev()
	}
	if c.base.Err() != nil {
		return nil, nil
	}
	return c.base.Last()
}

func (c *draftCursor) take(k, v []byte) ([]byte, []byte) {
	c.at = bytes.Clone(k)
	return k, v
}

func (c *draftCursor) step() bool {
	c.failed = c.tx.step()
	return c.failed == nil
}

func (c *draftCursor) Err() error { return errors.Join(c.failed, c.base.Err()) }
