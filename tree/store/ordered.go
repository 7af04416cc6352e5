package store

import (
	"bytes"
	"cmp"
	"slices"
)

// An orderedTx holds back what is written to the index bucket and passes it on
// in the order of keys: before somebody looks, and at the commit. What it holds
// is as bounded as the transaction, all of whose pages are in memory.
//
// bbolt does not split a page before the commit. Entries of a large write, which
// come in the order of the rows, would each move half of those that came before.
type orderedTx struct {
	kvTx
	held   []heldEntry
	failed error // of what was passed on when nobody could be told
}

// A heldEntry is a change of the index bucket that was not passed on yet.
type heldEntry struct {
	key  []byte
	put  bool // or else it is deleted
	turn int  // of two changes the later one counts
}

func (t *orderedTx) put(b bucket, key, value []byte) error {
	if b != bucketIndex {
		return t.kvTx.put(b, key, value)
	}
	t.held = append(t.held, heldEntry{key, true, len(t.held)})
	return nil
}

func (t *orderedTx) delete(b bucket, key []byte) error {
	if b != bucketIndex {
		return t.kvTx.delete(b, key)
	}
	t.held = append(t.held, heldEntry{key, false, len(t.held)})
	return nil
}

func (t *orderedTx) get(b bucket, key []byte) ([]byte, error) {
	t.release(b)
	return t.kvTx.get(b, key)
}

func (t *orderedTx) cursor(b bucket) kvCursor {
	t.release(b)
	return t.kvTx.cursor(b)
}

func (t *orderedTx) commit() error {
	t.release(bucketIndex)
	if t.failed != nil {
		return t.failed
	}
	return t.kvTx.commit()
}

// release passes on what is held back of a bucket.
func (t *orderedTx) release(b bucket) {
	if b != bucketIndex || len(t.held) == 0 {
		return
	}
	held := t.held
	slices.SortFunc(held, func(a, b heldEntry) int {
		return cmp.Or(bytes.Compare(a.key, b.key), a.turn-b.turn)
	})
	for i, e := range held {
		if i+1 < len(held) && bytes.Equal(e.key, held[i+1].key) {
			continue
		}
		if err := t.pass(e); err != nil && t.failed == nil {
			t.failed = err
		}
	}
	clear(held)
	t.held = held[:0]
}

func (t *orderedTx) pass(e heldEntry) error {
	if e.put {
		return t.kvTx.put(bucketIndex, e.key, nil)
	}
	return t.kvTx.delete(bucketIndex, e.key)
}
