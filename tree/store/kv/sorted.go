package kv

import (
	"bytes"
	"cmp"
	"sort"
)

// A sortedWrites holds back what is written to the index bucket and passes it on
// in the order of keys: before somebody looks, and at the commit. What it holds
// is as bounded as the transaction, all of whose pages are in memory.
//
// bbolt does not split a page before the commit. Entries of a large write, which come in
// the order of the rows, would each move half of those that came before. Only the index
// bucket needs this: rows are put in order by those that make them. Reads are correct at
// any time, since they release first. Commits with a log do without it, because the layers sort
// all buckets.
type sortedWrites struct {
	Tx
	held   []heldEntry
	failed error // of what was passed on when nobody could be told
}

// A heldEntry is a change of the index bucket that was not passed on yet.
type heldEntry struct {
	key   []byte
	put   bool // or else it is deleted
	order int  // of two changes the later one counts
}

// SortWrites returns a transaction that passes the writes to the index bucket on in the
// order of keys.
func SortWrites(tx Tx) Tx { return &sortedWrites{Tx: tx} }

func (t *sortedWrites) Put(b Bucket, key, value []byte) error {
	if b != Index {
		return t.Tx.Put(b, key, value)
	}
	t.held = append(t.held, heldEntry{key, true, len(t.held)})
	return nil
}

func (t *sortedWrites) Delete(b Bucket, key []byte) error {
	if b != Index {
		return t.Tx.Delete(b, key)
	}
	t.held = append(t.held, heldEntry{key, false, len(t.held)})
	return nil
}

func (t *sortedWrites) Get(b Bucket, key []byte) ([]byte, error) {
	t.release(b)
	return t.Tx.Get(b, key)
}

func (t *sortedWrites) Cursor(b Bucket) Cursor {
	t.release(b)
	return t.Tx.Cursor(b)
}

func (t *sortedWrites) Commit() error {
	if err := PassWrites(t); err != nil {
		return err
	}
	return t.Tx.Commit()
}

// PassWrites passes on what a transaction of SortWrites holds back, for one that is committed
// by others.
func PassWrites(tx Tx) error {
	t, ok := tx.(*sortedWrites)
	if !ok {
		return nil
	}
	t.release(Index)
	return t.failed
}

// release passes on what is held back of a bucket.
func (t *sortedWrites) release(b Bucket) {
	if b != Index || len(t.held) == 0 {
		return
	}
	held := t.held
	sort.Slice(held, func(i, j int) bool {
		a, b := held[i], held[j]
		return cmp.Or(bytes.Compare(a.key, b.key), a.order-b.order) < 0
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

func (t *sortedWrites) pass(e heldEntry) error {
	if e.put {
		return t.Tx.Put(Index, e.key, nil)
	}
	return t.Tx.Delete(Index, e.key)
}
