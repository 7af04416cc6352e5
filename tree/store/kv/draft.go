package kv

import "errors"

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
	base := t.base.Cursor(b)
	if t.own[bucketSlots[b]] == nil {
		return base
	}
	return &draftCursor{tx: t, base: base, own: t.own[bucketSlots[b]]}
}

// A draftCursor seeks for every step: that is simple, and drafts walk little behind
// their writes.
type draftCursor struct {
	tx     *draftTx
	base   Cursor
	own    memTree
	at     string
	failed error
}

func (c *draftCursor) Seek(key []byte) (k, v []byte) {
	for from := string(key); c.step(); {
		k, v = c.base.Seek([]byte(from))
		item, ok := c.above(from)
		if c.base.Err() != nil || !ok && k == nil {
			return nil, nil
		}
		if !ok || k != nil && string(k) < item.key {
			return c.take(string(k), v)
		}
		if item.value != nil {
			return c.take(item.key, item.value)
		}
		from = item.key + "\x00" // deleted
	}
	return nil, nil
}

func (c *draftCursor) Next() (k, v []byte) { return c.Seek([]byte(c.at + "\x00")) }

func (c *draftCursor) Last() (k, v []byte) {
	k, v = c.base.Last()
	item, ok := c.own.Max()
	return c.descend(k, v, item, ok)
}

func (c *draftCursor) Prev() (k, v []byte) {
	k, v = c.before(c.at)
	item, ok := c.below(c.at)
	return c.descend(k, v, item, ok)
}

// descend returns the greater one of two entries, or if that is deleted, the one
// before it.
func (c *draftCursor) descend(k, v []byte, item memItem, ok bool) (_, _ []byte) {
	for c.step() {
		if c.base.Err() != nil || !ok && k == nil {
			return nil, nil
		}
		if !ok || k != nil && string(k) > item.key {
			return c.take(string(k), v)
		}
		if item.value != nil {
			return c.take(item.key, item.value)
		}
		k, v = c.before(item.key)
		item, ok = c.below(item.key)
	}
	return nil, nil
}

// before returns the last entry of the snapshot before a key.
func (c *draftCursor) before(key string) (k, v []byte) {
	if k, _ = c.base.Seek([]byte(key)); k != nil {
		return c.base.Prev()
	}
	if c.base.Err() != nil {
		return nil, nil
	}
	return c.base.Last()
}

// above returns the first change at a key or behind it.
func (c *draftCursor) above(key string) (found memItem, ok bool) {
	c.own.Ascend(memItem{key: key}, func(item memItem) bool {
		found, ok = item, true
		return false
	})
	return found, ok
}

// below returns the last change before a key.
func (c *draftCursor) below(key string) (found memItem, ok bool) {
	c.own.Descend(memItem{key: key}, func(item memItem) bool {
		found, ok = item, item.key < key
		return !ok
	})
	return found, ok
}

func (c *draftCursor) take(k string, v []byte) ([]byte, []byte) {
	c.at = k
	return []byte(k), v
}

func (c *draftCursor) step() bool {
	c.failed = c.tx.step()
	return c.failed == nil
}

func (c *draftCursor) Err() error { return errors.Join(c.failed, c.base.Err()) }
