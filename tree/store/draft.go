package store

import "errors"

// errDraft is returned for the commit of a draft.
var errDraft = errors.New("a draft cannot be committed")

// Draft begins a transaction that can write and is never committed. It is a snapshot,
// as that of a read transaction. Its writes stay in memory, in front of the snapshot,
// so a draft holds up no other transaction, and does not wait for the write transaction.
// Its memory grows with the rows that it writes. Interrupt is asked during writes, too.
func (s *Store) Draft() (*Tx, error) {
	if s.options.ReadOnly {
		return nil, ErrReadOnly
	}
	base, err := s.Begin(false)
	if err != nil {
		return nil, err
	}
	tx := &Tx{store: s, state: base.state, desk: newDesk(), snapshot: base}
	tx.kv = &draftTx{base: base.kv, draft: tx}
	return tx, nil
}

// A draftTx is the entries that a draft has put or deleted, in front of those of a
// snapshot. An entry without a value is deleted.
type draftTx struct {
	base  kvTx
	draft *Tx
	own   [len(allBuckets)]memTree // nil: nothing in the bucket was changed
	steps int
}

// step asks Interrupt now and then.
func (t *draftTx) step() error {
	t.steps++
	if t.draft.Interrupt != nil && t.steps%1024 == 0 {
		return t.draft.Interrupt()
	}
	return nil
}

func (t *draftTx) get(b bucket, key []byte) ([]byte, error) {
	if err := t.step(); err != nil {
		return nil, err
	}
	if own := t.own[bucketSlots[b]]; own != nil {
		if item, ok := own.Get(memItem{key: string(key)}); ok {
			return item.value, nil
		}
	}
	return t.base.get(b, key)
}

func (t *draftTx) put(b bucket, key, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return t.set(b, memItem{string(key), value})
}

func (t *draftTx) delete(b bucket, key []byte) error { return t.set(b, memItem{key: string(key)}) }

func (t *draftTx) set(b bucket, item memItem) error {
	own := &t.own[bucketSlots[b]]
	if *own == nil {
		*own = newMemTree()
	}
	(*own).Set(item)
	return t.step()
}

func (t *draftTx) dense()        {}
func (t *draftTx) commit() error { return errDraft }
func (t *draftTx) rollback()     {} // the snapshot is that of another Tx

func (t *draftTx) cursor(b bucket) kvCursor {
	base := t.base.cursor(b)
	if t.own[bucketSlots[b]] == nil {
		return base
	}
	return &draftCursor{tx: t, base: base, own: t.own[bucketSlots[b]]}
}

// A draftCursor seeks for every step: that is simple, and drafts walk little behind
// their writes.
type draftCursor struct {
	tx     *draftTx
	base   kvCursor
	own    memTree
	at     string
	failed error
}

func (c *draftCursor) seek(key []byte) (k, v []byte) {
	for from := string(key); c.step(); {
		k, v = c.base.seek([]byte(from))
		item, ok := c.above(from)
		if c.base.err() != nil || !ok && k == nil {
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

func (c *draftCursor) next() (k, v []byte) { return c.seek([]byte(c.at + "\x00")) }

func (c *draftCursor) last() (k, v []byte) {
	k, v = c.base.last()
	item, ok := c.own.Max()
	return c.descend(k, v, item, ok)
}

func (c *draftCursor) prev() (k, v []byte) {
	k, v = c.before(c.at)
	item, ok := c.below(c.at)
	return c.descend(k, v, item, ok)
}

// descend returns the greater one of two entries, or if that is deleted, the one
// before it.
func (c *draftCursor) descend(k, v []byte, item memItem, ok bool) (_, _ []byte) {
	for c.step() {
		if c.base.err() != nil || !ok && k == nil {
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
	if k, _ = c.base.seek([]byte(key)); k != nil {
		return c.base.prev()
	}
	if c.base.err() != nil {
		return nil, nil
	}
	return c.base.last()
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

func (c *draftCursor) err() error { return errors.Join(c.failed, c.base.err()) }
