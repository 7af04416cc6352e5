package store

import (
	"bytes"
	"sync"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A writeCache is what write transactions leave for the next one: the rows of
// containers, since most writes go down through the same few, and memory. It
// belongs to the one transaction that has it.
//
// Its mutex is the lock of the writer: a write transaction takes it in Begin
// and leaves it in Commit or Rollback, and Check holds it to keep writers out.
// The rows in it are valid for the state that the last transaction left. So a
// transaction that is rolled back after it wrote clears them, and reads of
// snapshots never use them.
//
// Only rows of containers are kept, and the last other row that was read. They are small and
// change rarely, while packed rows are most of the data, and to keep those would be a second
// copy of it.
type writeCache struct {
	taken      sync.Mutex     // by the write transaction, from its beginning to its end
	containers map[string]row // by row key; as the transaction sees them

	last      row    // the row that was read last and is no container: it is often written next
	lastKey   []byte // of it
	lastKnown bool

	steps  []step // of the last descend
	keys   []byte // of those steps
	values []byte // of rows that the transaction puts

	counts map[uint64]countChange // of the children of containers
}

// When maxKnown is reached, all are forgotten. The few containers that most writes go
// through are learned again at once.
const (
	// maxKnown bounds how many containers are remembered.
	maxKnown = 4096
	// keptValues bounds the memory that is kept for the next transaction.
	keptValues = 1 << 20
)

func newWriteCache() *writeCache {
	return &writeCache{containers: make(map[string]row), counts: make(map[uint64]countChange)}
}

// leave hands the write cache to the next transaction. It knows the containers of the
// state that is committed.
func (d *writeCache) leave(committed bool) {
	if !committed {
		clear(d.containers)
	}
	if d.values = d.values[:0]; cap(d.values) > keptValues {
		d.values = nil
	}
	clear(d.steps[:cap(d.steps)]) // they hold nodes
	d.last, d.lastKnown = row{}, false
	clear(d.counts)
	d.taken.Unlock()
}

// row returns the row with the given key if it is known: that of a container, or the last one.
func (d *writeCache) row(key []byte) (row, bool) {
	if d == nil {
		return row{}, false
	}
	if d.isLast(key) {
		return d.last, true
	}
	r, ok := d.containers[string(key)]
	return r, ok
}

// learn remembers a row that was read, if it is that of a container. A long priority is left
// out, so what is remembered is bounded in bytes, too.
func (d *writeCache) learn(key []byte, r row) {
	if d == nil || r.tag != tagContainer {
		return
	}
	if len(r.priority.Text()) > longPriority {
		r.priority, r.cut = tree.Empty, true
	}
	if len(d.containers) >= maxKnown {
		clear(d.containers)
	}
	d.containers[string(key)] = r
}

// forget is told that a row changes.
func (d *writeCache) forget(b kv.Bucket, key []byte) {
	if d != nil && b == kv.Rows {
		delete(d.containers, string(key))
		if d.isLast(key) {
			d.lastKnown = false
		}
	}
}

// isLast reports whether a row is the one that was read last.
func (d *writeCache) isLast(key []byte) bool { return d.lastKnown && bytes.Equal(d.lastKey, key) }

// remember remembers a row that was read, until another one is. It may be absent.
func (d *writeCache) remember(key []byte, r row) {
	if d != nil && r.tag != tagContainer {
		d.last, d.lastKey, d.lastKnown = r, append(d.lastKey[:0], key...), true
	}
}

// encode returns an encoded row that lasts as long as the transaction.
func (d *writeCache) encode(r row) []byte {
	from := len(d.values)
	d.values = r.append(d.values)
	return d.values[from:len(d.values):len(d.values)]
}

// rowKey is the function of that name. The key lasts until the next descend.
func (d *writeCache) rowKey(container uint64, key string) []byte {
	from := len(d.keys)
	d.keys = appendRowKey(d.keys, container, key)
	return d.keys[from:len(d.keys):len(d.keys)]
}

// A step is one row on the way to a path. descend fills in both with the row as
// it was; the change updates now, and reindexed compares the two.
type step struct {
	key  []byte    // row key
	path tree.Path // of the row's node
	row  row       // before the write
	now  row       // after it
}
