package store

// A bucket is one ordered key space of the file.
type bucket byte

const (
	bucketRows       bucket = 'n' // container id, ordered key → row
	bucketBlobs      bucket = 'b' // blob id, chunk number → bytes
	bucketIndex      bucket = 'x' // index id, container id, value, ordered key → nothing
	bucketReclaim    bucket = 'g' // what waits to be freed
	bucketJournal    bucket = 'j' // revision, number of the piece from the second on → piece of the commit record
	bucketDisconnect bucket = 'o' // session, number → operation
	bucketMeta       bucket = 'm' // name → value; small ones, since one of them changes with every commit
	bucketTexts      bucket = 't' // name → value; those that may be large
	bucketWriters    bucket = 'w' // the writes that clients may send again; not in files of the first versions
	bucketCounts     bucket = 'c' // container id → number of its children; not in files of the first versions
)

var allBuckets = [...]bucket{bucketRows, bucketBlobs, bucketIndex, bucketReclaim, bucketJournal, bucketDisconnect, bucketMeta, bucketTexts, bucketWriters, bucketCounts}

// bucketSlots are the places of buckets in allBuckets.
var bucketSlots = func() (slots [256]byte) {
	for i, b := range allBuckets {
		slots[b] = byte(i)
	}
	return slots
}()

// A kv is an ordered key-value store with transactions. Bolt and memory
// implement it.
type kv interface {
	begin(writable bool) (kvTx, error)
	close() error
}

// A kvTx is a transaction. What get and cursors return is valid until the
// transaction writes or ends. An error of get or of a cursor says that an entry is
// damaged: whether it is there, and what it holds, is not known then.
type kvTx interface {
	get(b bucket, key []byte) ([]byte, error)
	put(b bucket, key, value []byte) error
	delete(b bucket, key []byte) error
	cursor(b bucket) kvCursor
	dense() // keys will ascend: leave less room between them
	commit() error
	rollback()
}

// A kvCursor walks a bucket in byte order. Methods return nil keys at the end, and
// in front of an entry that is damaged: ask err behind every walk. It must be
// positioned anew after a write.
type kvCursor interface {
	seek(key []byte) (k, v []byte) // first key ≥ key
	next() (k, v []byte)
	prev() (k, v []byte)
	last() (k, v []byte)
	err() error // of the last step
}
