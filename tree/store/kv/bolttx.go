package kv

import (
	"bytes"
	"hash/maphash"

	bolt "go.etcd.io/bbolt"
)

func (k *boltKV) begin(writable bool) (*boltTx, error) {
	begin := k.beginRead
	if writable {
		begin = k.beginWrite
	}
	tx, err := begin()
	if err != nil {
		return nil, err
	}
	return &boltTx{kv: k, tx: tx, writable: writable, fill: fillPercent, pages: newPages(tx)}, nil
}

// A boltTx is a transaction of a file, whose values it takes for what they are. Its
// methods may panic; see [FileTx].
//
// It reads in two ways. Pages that the transaction has not changed are read from the mapped
// file by a cursor of our own, with all checks. Pages that it has changed are in bbolt's
// memory, and are read by bbolt's cursor. keys, a Bloom filter of one hash, keeps most
// lookups of unchanged keys away from the second way; a false positive costs a seek and
// no wrong answer.
type boltTx struct {
	kv       *boltKV
	tx       *bolt.Tx
	writable bool
	fill     float64
	pages    pages
	buckets  [len(Buckets)]boltBucket // opened on first use
	kept     *keptChanges             // that buckets use
}

// A boltBucket is an open bucket.
type boltBucket struct {
	opened  bool
	there   bool         // false in an old file that is opened to read
	root    page         // as of the beginning of the transaction
	changed *bolt.Bucket // once the transaction changes it
	changes *changes

	finder pageCursor
	sought []byte    // by finder; empty for none
	at     entryText // that finder came to
}

// changes are what a transaction changes of a bucket. bbolt copies a page when
// it is first changed, with whatever is on it. So each leaf is checked once
// before that, and leaves notes which were.
type changes struct {
	cursor *bolt.Cursor
	keys   keyFilter
	leaves map[uint64]struct{} // of the file, by page; they were checked
	last   leafRange           // one of them
}

// keptChanges are those of the last transaction that has ended, by bucket, whose memory
// the next one uses. nil: none.
type keptChanges [len(Buckets)]*changes

// newChanges returns the changes of a bucket that has none yet.
func (t *boltTx) newChanges(b Bucket, changed *bolt.Bucket) *changes {
	if t.kept == nil {
		var ok bool
		if t.kept, ok = t.kv.kept.Get().(*keptChanges); !ok {
			t.kept = new(keptChanges)
		}
	}
	c := t.kept[bucketSlots[b]]
	if c == nil || len(c.leaves) > maxKeptLeaves {
		c = &changes{leaves: make(map[uint64]struct{})}
		t.kept[bucketSlots[b]] = c
	}
	clear(c.leaves)
	*c = changes{cursor: changed.Cursor(), leaves: c.leaves}
	return c
}

// maxKeptLeaves bounds the memory of changes that is kept.
const maxKeptLeaves = 256

// leave leaves the memory of changes to the next transaction. This one has ended.
func (t *boltTx) leave() {
	if t.kept != nil {
		t.kv.kept.Put(t.kept)
		t.kept = nil
	}
}

// A keyFilter says which keys are not among those that were added to it, for most of
// them.
type keyFilter [128]uint64

var filterSeed = maphash.MakeSeed()

func (f *keyFilter) bit(key []byte) (word *uint64, bit uint64) {
	h := maphash.Bytes(filterSeed, key)
	return &f[h>>6%uint64(len(f))], 1 << (h & 63)
}

func (f *keyFilter) add(key []byte) {
	word, bit := f.bit(key)
	*word |= bit
}

// mayHave reports whether a key may have been added.
func (f *keyFilter) mayHave(key []byte) bool {
	word, bit := f.bit(key)
	return *word&bit != 0
}

func (t *boltTx) bucket(b Bucket) *boltBucket {
	open := &t.buckets[bucketSlots[b]]
	if !open.opened {
		open.root, open.there = t.pages.bucket(uint64(t.tx.Cursor().Bucket().Root()), b)
		open.opened = true
		open.finder = pageCursor{pages: &t.pages, root: open.root}
	}
	return open
}

// find has the finder go to where a key is or would be, as of the beginning of the
// transaction.
func (o *boltBucket) find(key []byte) {
	if len(o.sought) > 0 && bytes.Equal(o.sought, key) {
		return
	}
	o.sought = o.sought[:0]
	o.at.k, o.at.v = o.finder.locate(key)
	o.sought = append(o.sought, key...)
}

// get returns the entry with a key; k is nil if there is none. Then before and at are the
// entries of the file on both sides of where it would be.
func (t *boltTx) get(b Bucket, key []byte) (k, v []byte, before, at entryText) {
	open := t.bucket(b)
	if !open.there {
		return nil, nil, before, at
	}
	open.find(key)
	k, v = open.at.k, open.at.v
	if open.changes != nil && open.changes.keys.mayHave(key) {
		k, v = open.changes.cursor.Seek(key)
	}
	if bytes.Equal(k, key) {
		return k, v, before, at
	}
	before.k, before.v = open.finder.before()
	return nil, nil, before, open.at
}

// toChange returns a bucket to change where a key is or will be. The pages on the way
// are checked before bbolt takes them over, since it would write what is left of
// damaged ones as whole ones.
func (t *boltTx) toChange(b Bucket, key []byte) *bolt.Bucket {
	open := t.bucket(b)
	if open.changed == nil {
		open.changed = t.tx.Bucket([]byte{byte(b)})
		open.changes = t.newChanges(b, open.changed)
		open.changed.FillPercent = t.fill
	}
	c := open.changes
	if !c.last.has(key) {
		open.find(key)
		home := open.finder.home
		if _, checked := c.leaves[home.page.id]; !checked {
			home.check()
			c.leaves[home.page.id] = struct{}{}
		}
		c.last = home
	}
	c.keys.add(key)
	return open.changed
}

// put stores an empty value for nil, so that get can tell absence.
func (t *boltTx) put(b Bucket, key, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return t.toChange(b, key).Put(key, value)
}

func (t *boltTx) delete(b Bucket, key []byte) error { return t.toChange(b, key).Delete(key) }
func (t *boltTx) Dense()                            { t.fill = densePercent }

// commit commits what was changed. If nothing was, the file stays as it is: a commit without
// changes costs two syncs as well.
func (t *boltTx) commit() error {
	for i := range t.buckets {
		if t.buckets[i].changed != nil {
			return t.kv.commit(t.tx)
		}
	}
	return t.tx.Rollback()
}

func (t *boltTx) rollback() {
	// The only error is that the transaction has ended, which is what we want.
	_ = t.tx.Rollback()
}

func (t *boltTx) cursor(b Bucket) boltCursor { return boltCursor{tx: t, b: b} }

// A walker is what both cursors of a bucket can do: that of its pages and bbolt's.
type walker interface {
	Seek(key []byte) (k, v []byte)
	Next() (k, v []byte)
	Prev() (k, v []byte)
	Last() (k, v []byte)
}

// A boltCursor walks a bucket as of the transaction: its pages, or what bbolt has of
// it once the transaction has changed it.
type boltCursor struct {
	tx    *boltTx
	b     Bucket
	pages pageCursor
	walker
}

// choose decides what to walk. ok is false if there is no bucket.
func (c *boltCursor) choose() (ok bool) {
	open := c.tx.bucket(c.b)
	if !open.there {
		return false
	}
	if open.changed == nil {
		c.pages.pages, c.pages.root = &c.tx.pages, open.root
		c.walker = &c.pages
	} else if _, chosen := c.walker.(*bolt.Cursor); !chosen {
		c.walker = open.changed.Cursor()
	}
	return true
}

// Seek goes to the first entry that is not below the key.
func (c *boltCursor) Seek(key []byte) (k, v []byte) {
	if !c.choose() {
		return nil, nil
	}
	return c.walker.Seek(key)
}

// Last goes to the last entry.
func (c *boltCursor) Last() (k, v []byte) {
	if !c.choose() {
		return nil, nil
	}
	return c.walker.Last()
}

// around returns the entries of the file, as of the beginning of the transaction, on
// both sides of a key that was sought.
func (c *boltCursor) around(key []byte) (before, at entryText) {
	open := c.tx.bucket(c.b)
	if !open.there {
		return before, at
	}
	c.pages.pages, c.pages.root = &c.tx.pages, open.root
	at.k, at.v = c.pages.Seek(key)
	before.k, before.v = c.pages.before()
	return before, at
}

// An entryText is an entry as it is stored.
type entryText struct{ k, v []byte }

// exact returns the entry with a key, nil if there is none.
func (t *boltTx) exact(b Bucket, key []byte) (k, v []byte) {
	c := t.cursor(b)
	if k, v = c.Seek(key); !bytes.Equal(k, key) {
		return nil, nil
	}
	return k, v
}
