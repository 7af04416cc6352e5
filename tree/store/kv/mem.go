package kv

import (
	"bytes"
	"sync"

	"github.com/tidwall/btree"
)

// memKV keeps buckets in copy-on-write trees: a transaction works on copies of
// those that it changes, and a commit makes them the current state.
//
// It is the store of databases in memory and the model for tests of the others.
// Its transactions have the same contract: one writer at a time, and readers of
// the state before it. A commit cannot fail.
type memKV struct {
	writer sync.Mutex // held by the one write transaction
	mu     sync.Mutex // guards current
	cur    memState
}

// A memItem is an entry in memory. Its key and value do not change.
type memItem struct{ key, value []byte }

type memTree = *btree.BTreeG[memItem]

// newItem copies an entry. Its value is not nil, so that Get can tell absence.
func newItem(key, value []byte) memItem {
	both := append(append(make([]byte, 0, len(key)+len(value)), key...), value...)
	return memItem{both[:len(key):len(key)], both[len(key):]}
}

// A memState has the tree of each bucket, at the bucket's slot.
type memState [len(Buckets)]memTree

// NewMemory returns a new store in memory.
func NewMemory() Store {
	m := new(memKV)
	for i := range m.cur {
		m.cur[i] = newMemTree()
	}
	return m
}

func newMemTree() memTree {
	less := func(a, b memItem) bool { return bytes.Compare(a.key, b.key) < 0 }
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})
}

func (m *memKV) Close() error { return nil }

func (m *memKV) Begin(writable bool) (Tx, error) {
	if writable {
		m.writer.Lock()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	tx := &memTx{state: m.cur}
	if writable {
		tx.kv = m
	}
	return tx, nil
}

type memTx struct {
	kv    *memKV // nil if read-only or done
	state memState
	own   [len(Buckets)]bool // the tree is a copy
}

func (t *memTx) tree(b Bucket) *memTree { return &t.state[bucketSlots[b]] }

// writable returns a tree that can be changed.
func (t *memTx) writable(b Bucket) memTree {
	i := bucketSlots[b]
	if !t.own[i] {
		t.state[i], t.own[i] = t.state[i].Copy(), true
	}
	return t.state[i]
}

func (t *memTx) Get(b Bucket, key []byte) ([]byte, error) {
	item, ok := (*t.tree(b)).Get(memItem{key: key})
	if !ok {
		return nil, nil
	}
	return item.value, nil
}

func (t *memTx) Put(b Bucket, key, value []byte) error {
	t.writable(b).Set(newItem(key, value))
	return nil
}

func (t *memTx) Delete(b Bucket, key []byte) error {
	t.writable(b).Delete(memItem{key: key})
	return nil
}

func (t *memTx) Dense() {}

func (t *memTx) Cursor(b Bucket) Cursor { return &memCursor{tree: t.tree(b)} }

func (t *memTx) Commit() error {
	t.kv.mu.Lock()
	t.kv.cur = t.state
	t.kv.mu.Unlock()
	t.Rollback()
	return nil
}

func (t *memTx) Rollback() {
	if t.kv != nil {
		t.kv.writer.Unlock()
		t.kv = nil
	}
}

// A memCursor seeks for every step: iterators of the tree do not survive writes, and rows
// are cheap to find.
type memCursor struct {
	tree *memTree
	at   []byte
}

func (c *memCursor) Seek(key []byte) (k, v []byte) { return c.ascend(key) }

func (c *memCursor) Next() (k, v []byte) { return c.ascend(behind(c.at)) }

// behind returns the first key behind another.
func behind(key []byte) []byte { return append(key[:len(key):len(key)], 0) }

func (c *memCursor) ascend(from []byte) (k, v []byte) {
	(*c.tree).Ascend(memItem{key: from}, func(item memItem) bool {
		k, v = c.take(item)
		return false
	})
	return k, v
}

func (c *memCursor) Prev() (k, v []byte) {
	(*c.tree).Descend(memItem{key: c.at}, func(item memItem) bool {
		if bytes.Equal(item.key, c.at) {
			return true
		}
		k, v = c.take(item)
		return false
	})
	return k, v
}

func (c *memCursor) Last() (k, v []byte) {
	if item, ok := (*c.tree).Max(); ok {
		return c.take(item)
	}
	return nil, nil
}

func (c *memCursor) Err() error { return nil }

func (c *memCursor) take(item memItem) (k, v []byte) {
	c.at = item.key
	return item.key, item.value
}
