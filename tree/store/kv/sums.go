package kv

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"runtime/debug"
	"sync/atomic"
)

// Files have a checksum behind the value of every entry of every bucket, over the
// bucket, the key and the value. This layer adds it and takes it off; nothing above
// knows of it, and a store in memory has none.
//
// An answer that there is no entry is verified, too: the entries on both sides of the
// gap must be whole, and the key must belong between them. See pagecursor.go for
// entries that are missing because a page is damaged.

// SumBytes is the length of the checksum behind every value in a file.
const SumBytes = 4

// maxKept bounds the memory that is kept for the values of the next transaction.
const maxKept = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumOf returns the checksum of an entry. The length of the key is in it, so that a
// damaged length does not move bytes between key and value.
func sumOf(b Bucket, key, value []byte) uint32 {
	return mixed(crc32.Update(crc32.Update(0, castagnoli, key), castagnoli, value), b, len(key))
}

// mixed adds the bucket and the length of the key to the sum of key and value.
func mixed(sum uint32, b Bucket, key int) uint32 {
	return sum ^ (uint32(b)<<16 | uint32(key)) ^ 0x5A<<24
}

// checkSum returns a stored value without its checksum. ok reports that it is right.
func checkSum(b Bucket, key, stored []byte) (value []byte, ok bool) {
	n := len(stored) - SumBytes
	if n < 0 {
		return nil, false
	}
	value = stored[:n:n]
	return value, le.Uint32(stored[n:]) == sumOf(b, key, value)
}

// A File is a file whose entries have checksums.
//
// It is the only user of boltKV. Everything that may panic runs below guard,
// since bbolt and the page cursor report damage by panics, and a page that
// cannot be read from the disk is a fault. So each method of FileTx that reads
// or changes entries begins with a deferred guard.
type File struct {
	*boltKV
	damaged func(err error) // is called with damage; may be nil
	name    func(b Bucket, key []byte) string
	all     atomic.Bool // all entries have checksums
	room    atomic.Pointer[[]byte]
}

// Begin begins a transaction. If it can write, it waits for the one before to end.
func (k *File) Begin(writable bool) (Tx, error) {
	all := k.all.Load() // before the transaction begins, so that it is not older
	tx, err := k.boltKV.begin(writable)
	if err != nil {
		return nil, err
	}
	t := &FileTx{boltTx: tx, kv: k, all: all}
	if room := k.room.Swap(nil); room != nil && writable {
		t.room = *room
	}
	if !all {
		if t.place, err = t.readPlace(); err != nil {
			t.Rollback()
			return nil, err
		}
		if t.all = t.place.turn == len(upgradeOrder); t.all {
			k.all.Store(true)
		}
	}
	return t, nil
}

// A FileTx is a transaction of a file. It belongs to one goroutine.
type FileTx struct {
	*boltTx
	kv    *File
	all   bool         // all entries have checksums
	place upgradePlace // else, those before it
	room  []byte       // for values with their checksums
	ended bool
}

// summed reports whether the entry with a key has a checksum.
func (t *FileTx) summed(b Bucket, key []byte) bool {
	if b == Meta && bytes.Equal(key, formatKey) {
		return false // older versions read it
	}
	return t.all || t.place.has(b, key)
}

// open verifies an entry and returns its value without the checksum.
func (t *FileTx) open(b Bucket, key, stored []byte) ([]byte, error) {
	if !t.summed(b, key) {
		return stored, nil
	}
	value, ok := checkSum(b, key, stored)
	if !ok {
		return nil, t.damage(b, key, "the checksum is wrong")
	}
	return value, nil
}

func (t *FileTx) damage(b Bucket, key []byte, what string) error {
	entry := fmt.Sprintf("entry %.64x of bucket %c", key, b)
	if t.kv.name != nil {
		entry = t.kv.name(b, key)
	}
	err := &damageError{entry, what}
	if t.kv.damaged != nil {
		t.kv.damaged(err)
	}
	return err
}

// guard turns a panic into an error: bbolt panics over pages that are damaged, and a
// mapped page that cannot be read is a fault. Use it with a call of mayFault.
func (t *FileTx) guard(b Bucket, key []byte, before bool, err *error) {
	debug.SetPanicOnFault(before)
	if r := recover(); r != nil {
		*err = t.damage(b, key, fmt.Sprintf("page: %v", r))
	}
}

// mayFault has faults of this goroutine panic, and returns what guard restores.
func mayFault() bool { return debug.SetPanicOnFault(true) }

// Get returns the value of a key, nil if there is none. It verifies the entry, or the two
// entries between which the key would be.
func (t *FileTx) Get(b Bucket, key []byte) (v []byte, err error) {
	defer t.guard(b, key, mayFault(), &err)
	k, stored, before, at := t.boltTx.get(b, key)
	if k == nil {
		return nil, t.gap(b, key, before, at)
	}
	return t.open(b, k, stored)
}

// Put stores a value with its checksum. The pages that it changes are checked before.
func (t *FileTx) Put(b Bucket, key, value []byte) (err error) {
	defer t.guard(b, key, mayFault(), &err)
	if t.summed(b, key) {
		value = t.seal(b, key, value)
	}
	return t.boltTx.put(b, key, value)
}

// roomForValues is how much is allocated at first for values with checksums. Later pieces
// are larger, so that one is enough for the next transaction.
const roomForValues = 64 << 10

// seal returns a value with its checksum, which lasts as long as the transaction.
func (t *FileTx) seal(b Bucket, key, value []byte) []byte {
	n := len(value) + SumBytes
	if cap(t.room)-len(t.room) < n {
		t.room = make([]byte, 0, max(roomForValues, min(2*cap(t.room), maxKept), n))
	}
	from := len(t.room)
	t.room = append(t.room, value...)
	t.room = le.AppendUint32(t.room, sumOf(b, key, value))
	return t.room[from:len(t.room):len(t.room)]
}

// Delete removes an entry, if there is one.
func (t *FileTx) Delete(b Bucket, key []byte) (err error) {
	defer t.guard(b, key, mayFault(), &err)
	return t.boltTx.delete(b, key)
}

// Commit makes the writes durable and visible. After an error none of them is in the file,
// unless the error is ErrUnknown.
func (t *FileTx) Commit() (err error) {
	defer t.guard(Meta, nil, mayFault(), &err)
	if err := t.boltTx.commit(); err != nil {
		return err
	}
	t.end()
	return nil
}

// Rollback ends the transaction without its writes.
func (t *FileTx) Rollback() {
	t.boltTx.rollback()
	t.end()
}

// end leaves the room for values to the next writer: nothing refers to it any longer.
func (t *FileTx) end() {
	if t.ended || !t.writable {
		return
	}
	t.ended = true
	t.boltTx.leave()
	if room := t.room[:0]; cap(room) <= maxKept {
		t.kv.room.Store(&room)
	}
}

// Cursor returns a cursor that verifies each entry that it stops at.
func (t *FileTx) Cursor(b Bucket) Cursor { return &sumCursor{t: t, b: b, c: t.boltTx.cursor(b)} }

// A sumCursor verifies what it comes by.
type sumCursor struct {
	t   *FileTx
	b   Bucket
	c   boltCursor
	bad error

	steps int            // forward, since it came from elsewhere
	ahead *verifiedAhead // nil: nothing yet
}

func (c *sumCursor) Err() error { return c.bad }

func (c *sumCursor) Seek(key []byte) (k, v []byte) {
	c.bad = nil
	c.forget()
	defer c.t.guard(c.b, key, mayFault(), &c.bad)
	found, stored := c.c.Seek(key) // not k and v: after a panic these are what is returned
	if found != nil && bytes.Equal(found, key) {
		return c.open(found, stored)
	}
	before, at := c.c.around(key)
	if c.bad = c.t.gap(c.b, key, before, at); c.bad != nil {
		return nil, nil
	}
	return c.open(found, stored)
}

// gap verifies that the file has nothing between a key that was not found and the
// next one: the entries on both sides are what was stored, and the key belongs there.
func (t *FileTx) gap(b Bucket, key []byte, before, at entryText) error {
	if at.k != nil && bytes.Compare(at.k, key) < 0 || before.k != nil && bytes.Compare(before.k, key) >= 0 {
		return t.damage(b, key, "keys are out of order")
	}
	for _, e := range []entryText{before, at} {
		if e.k == nil {
			continue
		}
		if _, err := t.open(b, e.k, e.v); err != nil {
			return err
		}
	}
	return nil
}

func (c *sumCursor) Next() (k, v []byte) {
	c.bad = nil
	if c.ahead != nil && c.ahead.next < c.ahead.end {
		return c.take()
	}
	defer c.t.guard(c.b, nil, mayFault(), &c.bad)
	if k, v = c.open(c.c.Next()); k != nil {
		c.look()
	}
	return k, v
}

func (c *sumCursor) Prev() (k, v []byte) { return c.step((*boltCursor).Prev) }
func (c *sumCursor) Last() (k, v []byte) { return c.step((*boltCursor).Last) }

func (c *sumCursor) step(to func(*boltCursor) (k, v []byte)) (k, v []byte) {
	c.bad = nil
	c.forget()
	defer c.t.guard(c.b, nil, mayFault(), &c.bad)
	return c.open(to(&c.c))
}

// open verifies an entry and takes its checksum off.
func (c *sumCursor) open(k, stored []byte) (key, v []byte) {
	if k == nil {
		return nil, nil
	}
	if v, c.bad = c.t.open(c.b, k, stored); c.bad != nil {
		return nil, nil
	}
	return k, v
}
