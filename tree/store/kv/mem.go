package kv

import (
	"sync"
	"unsafe"

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

// A memTree has entries in memory, whose keys and values do not change. Its type is that of
// the trees of package pending, apart from what the pointers are of: so the program has the code once,
// which is 100 kB.
type memTree = *btree.Map[string, *[]byte]

func newMemTree() memTree { return new(btree.Map[string, *[]byte]) }

// asString returns a key as trees have it. It shares the bytes.
func asString(key []byte) string { return unsafe.String(unsafe.SliceData(key), len(key)) }

// asBytes returns a key of a tree. Nothing may write to it.
func asBytes(key string) []byte { return unsafe.Slice(unsafe.StringData(key), len(key)) }

// putCopy puts a copy of an entry. Its value is not nil, so that Get can tell absence.
func putCopy(tree memTree, key, value []byte) {
	both := append(append(make([]byte, 0, len(key)+len(value)), key...), value...)
	copied := both[len(key):]
	tree.Set(asString(both[:len(key)]), &copied)
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
	value, ok := (*t.tree(b)).Get(asString(key))
	if !ok {
		return nil, nil
	}
	return *value, nil
}

func (t *memTx) Put(b Bucket, key, value []byte) error {
	putCopy(t.writable(b), key, value)
	return nil
}

func (t *memTx) Delete(b Bucket, key []byte) error {
	t.writable(b).Delete(asString(key))
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
	(*c.tree).Ascend(asString(from), func(key string, value *[]byte) bool {
		k, v = c.take(key, value)
		return false
	})
	return k, v
}

func (c *memCursor) Prev() (k, v []byte) {
	(*c.tree).Descend(asString(c.at), func(key string, value *[]byte) bool {
		if key == asString(c.at) {
			return true
		}
		k, v = c.take(key, value)
		return false
	})
	return k, v
}

func (c *memCursor) Last() (k, v []byte) {
	if key, value, ok := (*c.tree).Max(); ok {
		return c.take(key, value)
	}
	return nil, nil
}

func (c *memCursor) Err() error { return nil }

func (c *memCursor) take(key string, value *[]byte) (k, v []byte) {
	c.at = asBytes(key)
	return c.at, *value
}
