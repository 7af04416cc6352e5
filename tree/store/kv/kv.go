package kv

// A Bucket is one ordered key space of the file.
type Bucket byte

const (
	Rows       Bucket = 'n' // container id, ordered key → row
	Blobs      Bucket = 'b' // blob id, chunk number → bytes
	Index      Bucket = 'x' // index id, container id, value, ordered key → nothing
	Reclaim    Bucket = 'g' // what waits to be freed
	Journal    Bucket = 'j' // empty; earlier versions kept the last commits here
	Disconnect Bucket = 'o' // session, number → operation
	Meta       Bucket = 'm' // name → value; small ones, since one of them changes with every commit
	Texts      Bucket = 't' // name → value; those that may be large
	Writers    Bucket = 'w' // the writes that clients may send again; not in files of the first versions
	Counts     Bucket = 'c' // container id → number of its children; not in files of the first versions
	Declared   Bucket = 'e' // rows of declared data; empty in files of formats below 4
)

// Buckets are all buckets of a file.
var Buckets = [...]Bucket{Rows, Blobs, Index, Reclaim, Journal, Disconnect, Meta, Texts, Writers, Counts, Declared}

// bucketSlots are the places of buckets in buckets.
var bucketSlots = func() (slots [256]byte) {
	for i, b := range Buckets {
		slots[b] = byte(i)
	}
	return slots
}()

// IsBucket reports whether b is one of Buckets.
func IsBucket(b Bucket) bool { return Buckets[bucketSlots[b]] == b }

// A Store is an ordered key-value store with transactions. Bolt and memory
// implement it.
type Store interface {
	Begin(writable bool) (Tx, error)
	Close() error
}

// Entries are what reads and writes the entries of a transaction. What Get and cursors return is valid until the
// transaction writes or ends. An error of Get or of a cursor says that an entry is
// damaged: whether it is there, and what it holds, is not known then.
type Entries interface {
	Get(b Bucket, key []byte) ([]byte, error)
	Put(b Bucket, key, value []byte) error
	Delete(b Bucket, key []byte) error
	Cursor(b Bucket) Cursor
}

// A Tx is a transaction: one consistent state, and what it writes on top.
type Tx interface {
	Entries
	Dense() // keys will ascend: leave less room between them
	Commit() error
	Rollback()
}

// A Cursor walks a bucket in byte order. Methods return nil keys at the end, and
// in front of an entry that is damaged: ask Err behind every walk. It must be
// positioned anew after a write.
type Cursor interface {
	Seek(key []byte) (k, v []byte) // first key ≥ key
	Next() (k, v []byte)
	Prev() (k, v []byte)
	Last() (k, v []byte)
	Err() error // of the last step
}

// A Passer is a cursor that passes entries which were deleted and are still there. There may be
// any number of them between two entries.
type Passer interface {
	// OnPass has f called for each of them. An error of f ends the step, and Err returns it.
	OnPass(f func() error)
	// Within ends walks where keys with the prefix end, instead of at the next entry that was not
	// deleted. They begin with Seek or Before, with a key that is not beyond.
	Within(prefix []byte)
	// Before goes to the last entry below a key.
	Before(key []byte) (k, v []byte)
}
