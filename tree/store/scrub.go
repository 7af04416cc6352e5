package store

import "bytes"

// A ScrubPlace is how far a scrub is. The zero place is the beginning.
type ScrubPlace struct {
	bucket int
	key    []byte
}

// Scrub verifies the pages and the checksums of entries from a place on, about as
// many bytes as it is told, and returns the place behind them and what it read. At the
// end that is the zero place. Damage is counted, and told to Options.OnDamage.
func (tx *Tx) Scrub(from ScrubPlace, size int) (next ScrubPlace, read int) {
	t, ok := fileOf(tx.kv)
	if !ok {
		return ScrubPlace{}, 0
	}
	for next = from; next.bucket < len(allBuckets); next = (ScrubPlace{bucket: next.bucket + 1}) {
		var n int
		if next.key, n = t.scrub(allBuckets[next.bucket], next.key, size-read); next.key != nil {
			return next, read + n
		}
		read += n
	}
	return ScrubPlace{}, read
}

// scrub verifies entries of a bucket from a key on. It returns the key behind them,
// nil at the end of the bucket or of what of it can be walked.
func (t *sumTx) scrub(b bucket, from []byte, size int) (next []byte, read int) {
	var err error // counted where it is made
	defer t.guard(b, from, mayFault(), &err)
	c := t.boltTx.cursor(b)
	k, v := c.seek(from)
	for ; k != nil; k, v = c.next() {
		if read >= size {
			return bytes.Clone(k), read
		}
		_, _ = t.open(b, k, v)
		read += len(k) + len(v)
	}
	return nil, read
}

// Start reports whether a place is the beginning.
func (p ScrubPlace) Start() bool { return p.bucket == 0 && p.key == nil }
