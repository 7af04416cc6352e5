package store

import (
	"bytes"

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
// methods may panic; see [sumTx].
type boltTx struct {
	kv       *boltKV
	tx       *bolt.Tx
	writable bool
	fill     float64
	pages    pages
	buckets  [len(allBuckets)]boltBucket // opened on first use
}

// A boltBucket is an open bucket.
type boltBucket struct {
	opened  bool
	there   bool         // false in an old file that is opened to read
	root    page         // as of the beginning of the transaction
	changed *bolt.Bucket // once the transaction changes it
	checker pageCursor
	checked [2][]byte // bounds of the leaf that was checked last
	whole   bool      // checked is set
}

func (t *boltTx) bucket(b bucket) *boltBucket {
	open := &t.buckets[bucketSlots[b]]
	if !open.opened {
		open.root, open.there = t.pages.bucket(uint64(t.tx.Cursor().Bucket().Root()), b)
		open.opened = true
	}
	return open
}

// toChange returns a bucket to change where a key is or will be. The pages on the way
// are checked before bbolt takes them over, since it would write what is left of
// damaged ones as whole ones.
func (t *boltTx) toChange(b bucket, key []byte) *bolt.Bucket {
	open := t.bucket(b)
	if !open.within(key) {
		if open.checker.pages == nil {
			open.checker = pageCursor{pages: &t.pages, root: open.root}
		}
		open.checked[0], open.checked[1] = open.checker.check(key)
		open.whole = true
	}
	if open.changed == nil {
		open.changed = t.tx.Bucket([]byte{byte(b)})
		if open.changed.FillPercent = t.fill; b == bucketJournal {
			open.changed.FillPercent = densePercent
		}
	}
	return open.changed
}

// within reports whether a key is in the leaf that was checked last.
func (o *boltBucket) within(key []byte) bool {
	return o.whole && bytes.Compare(key, o.checked[0]) >= 0 && (o.checked[1] == nil || bytes.Compare(key, o.checked[1]) < 0)
}

// put stores an empty value for nil, so that get can tell absence.
func (t *boltTx) put(b bucket, key, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return t.toChange(b, key).Put(key, value)
}

func (t *boltTx) delete(b bucket, key []byte) error { return t.toChange(b, key).Delete(key) }
func (t *boltTx) dense()                            { t.fill = densePercent }
func (t *boltTx) commit() error                     { return t.kv.commit(t.tx) }

func (t *boltTx) rollback() {
	// The only error is that the transaction has ended, which is what we want.
	_ = t.tx.Rollback()
}

func (t *boltTx) cursor(b bucket) *boltCursor { return &boltCursor{tx: t, b: b} }

// A boltCursor walks a bucket as of the transaction: its pages, or what bbolt has of
// it once the transaction has changed it.
type boltCursor struct {
	tx      *boltTx
	b       bucket
	pages   pageCursor
	changed *bolt.Cursor // nil while pages is used
}

// choose decides what to walk. ok is false if there is no bucket.
func (c *boltCursor) choose() (ok bool) {
	open := c.tx.bucket(c.b)
	switch {
	case !open.there:
		return false
	case open.changed == nil:
		c.pages.pages, c.pages.root = &c.tx.pages, open.root
	case c.changed == nil:
		c.changed = open.changed.Cursor()
	}
	return true
}

func (c *boltCursor) seek(key []byte) (k, v []byte) {
	switch {
	case !c.choose():
		return nil, nil
	case c.changed != nil:
		return c.changed.Seek(key)
	}
	return c.pages.seek(key)
}

func (c *boltCursor) last() (k, v []byte) {
	switch {
	case !c.choose():
		return nil, nil
	case c.changed != nil:
		return c.changed.Last()
	}
	return c.pages.last()
}

func (c *boltCursor) next() (k, v []byte) {
	if c.changed != nil {
		return c.changed.Next()
	}
	return c.pages.next()
}

func (c *boltCursor) prev() (k, v []byte) {
	if c.changed != nil {
		return c.changed.Prev()
	}
	return c.pages.prev()
}

// around returns the entries of the file, as of the beginning of the transaction, on
// both sides of a key that was sought.
func (c *boltCursor) around(key []byte) (before, at entryText) {
	open := c.tx.bucket(c.b)
	if !open.there {
		return before, at
	}
	c.pages.pages, c.pages.root = &c.tx.pages, open.root
	at.k, at.v = c.pages.seek(key)
	before.k, before.v = c.pages.before()
	return before, at
}

// An entryText is an entry as it is stored.
type entryText struct{ k, v []byte }

// seekExact returns the entry with a key, nil if there is none.
func (c *boltCursor) seekExact(key []byte) (k, v []byte) {
	if k, v = c.seek(key); !bytes.Equal(k, key) {
		return nil, nil
	}
	return k, v
}
