package store

import (
	"sync"

	"github.com/tidwall/btree"
)

// memKV keeps buckets in copy-on-write trees: a transaction works on a copy,
// and a commit makes the copy the current state.
type memKV struct {
	writer sync.Mutex // held by the one write transaction
	mu     sync.Mutex // guards current
	cur    memState
}

type memItem struct {
	key   string
	value []byte
}

type memTree = *btree.BTreeG[memItem]

type memState map[bucket]memTree

func newMemKV() *memKV {
	state := make(memState)
	for _, b := range allBuckets {
		less := func(a, b memItem) bool { return a.key < b.key }
		state[b] = btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})
	}
	return &memKV{cur: state}
}

func (m *memKV) close() error { return nil }

func (m *memKV) begin(writable bool) (kvTx, error) {
	if writable {
		m.writer.Lock()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !writable {
		return &memTx{state: m.cur}, nil
	}
	state := make(memState, len(m.cur))
	for b, t := range m.cur {
		state[b] = t.Copy()
	}
	return &memTx{kv: m, state: state}, nil
}

type memTx struct {
	kv    *memKV // nil if read-only or done
	state memState
}

func (t *memTx) get(b bucket, key []byte) []byte {
	item, ok := t.state[b].Get(memItem{key: string(key)})
	if !ok {
		return nil
	}
	return item.value
}

func (t *memTx) put(b bucket, key, value []byte) error {
	copied := make([]byte, len(value)) // never nil, so that get can tell absence
	copy(copied, value)
	t.state[b].Set(memItem{string(key), copied})
	return nil
}

func (t *memTx) delete(b bucket, key []byte) error {
	t.state[b].Delete(memItem{key: string(key)})
	return nil
}

func (t *memTx) dense() {}

func (t *memTx) cursor(b bucket) kvCursor { return &memCursor{tree: t.state[b]} }

func (t *memTx) commit() error {
	t.kv.mu.Lock()
	t.kv.cur = t.state
	t.kv.mu.Unlock()
	t.rollback()
	return nil
}

func (t *memTx) rollback() {
	if t.kv != nil {
		t.kv.writer.Unlock()
		t.kv = nil
	}
}

// A memCursor seeks for every step, from a copy of the last key: iterators of
// the tree do not survive writes, and rows are cheap to find.
type memCursor struct {
	tree memTree
	at   string
}

func (c *memCursor) seek(key []byte) (k, v []byte) { return c.ascend(string(key)) }

func (c *memCursor) next() (k, v []byte) { return c.ascend(c.at + "\x00") }

func (c *memCursor) ascend(from string) (k, v []byte) {
	c.tree.Ascend(memItem{key: from}, func(item memItem) bool {
		k, v = c.take(item)
		return false
	})
	return k, v
}

func (c *memCursor) prev() (k, v []byte) {
	c.tree.Descend(memItem{key: c.at}, func(item memItem) bool {
		if item.key == c.at {
			return true
		}
		k, v = c.take(item)
		return false
	})
	return k, v
}

func (c *memCursor) last() (k, v []byte) {
	if item, ok := c.tree.Max(); ok {
		return c.take(item)
	}
	return nil, nil
}

func (c *memCursor) take(item memItem) (k, v []byte) {
	c.at = item.key
	return []byte(item.key), item.value
}
