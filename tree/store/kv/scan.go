package kv

import (
	"bytes"
	"os"
)

// Scrub verifies entries of a bucket from a key on. It returns the key behind them,
// nil at the end of the bucket or of what of it can be walked.
func (t *FileTx) Scrub(b Bucket, from []byte, size int) (next []byte, read int) {
	var err error // counted where it is made
	defer t.guard(b, from, mayFault(), &err)
	c := t.boltTx.cursor(b)
	k, v := c.Seek(from)
	for ; k != nil; k, v = c.Next() {
		if read >= size {
			return bytes.Clone(k), read
		}
		_, _ = t.open(b, k, v)
		read += len(k) + len(v)
	}
	return nil, read
}

// Scan calls visit for every entry of a bucket, also for damaged ones: whole says
// whether the checksum is right. Key and value are valid during the call.
func (t *FileTx) Scan(b Bucket, visit func(key, value []byte, whole bool)) (err error) {
	defer t.guard(b, nil, mayFault(), &err)
	c := t.boltTx.cursor(b)
	for k, stored := c.Seek(nil); k != nil; k, stored = c.Next() {
		v, whole := opened(b, k, stored, t.summed(b, k))
		visit(k, v, whole)
	}
	return nil
}

// opened returns the value of an entry that may have a checksum, and whether that is
// right.
func opened(b Bucket, key, stored []byte, summed bool) (value []byte, whole bool) {
	if !summed {
		return stored, true
	}
	return checkSum(b, key, stored)
}

// Damage says what is wrong with the pages of a file.
type Damage struct {
	Short error // the file is cut short; nil: it is not
	Pages []BadPage
}

// ScanDamaged follows all pages of a file that cannot be opened and passes over those
// that are damaged. It calls visit for the entries on the others, as Scan does.
func ScanDamaged(file string, visit func(b Bucket, key, value []byte, whole bool)) (d Damage, err error) {
	f, err := os.Open(file)
	if err != nil {
		return d, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return d, err
	}
	meta, err := newestMeta(f)
	if err != nil {
		return d, err // nothing is known
	}
	d.Short = probeMeta(f, info.Size())
	sums := findPlace(f, meta, info.Size())
	w := pageWalk{f: f, meta: meta, size: info.Size(), tolerant: true, entry: func(b Bucket, k, stored []byte) {
		v, whole := opened(b, k, stored, sums.has(b, k))
		visit(b, k, v, whole)
	}}
	if err := w.run(); err != nil {
		w.bad = append(w.bad, BadPage{Err: err})
	}
	d.Pages = w.bad
	return d, nil
}

// findPlace finds out which entries of a file have checksums.
func findPlace(f *os.File, meta boltMeta, size int64) sumPlace {
	var plain bool
	place := upgradeEnd
	w := pageWalk{f: f, meta: meta, size: size, tolerant: true, entry: func(b Bucket, k, v []byte) {
		switch {
		case b != Meta:
		case bytes.Equal(k, formatKey):
			plain = string(v) == formatPlain
		case bytes.Equal(k, placeKey):
			if p, ok := decodePlace(v); ok {
				place = p
			}
		}
	}}
	_ = w.run()
	if plain {
		place = upgradePlace{}
	}
	return sumPlace{place}
}

// A sumPlace says which entries of a file have checksums.
type sumPlace struct{ upgradePlace }

func (p sumPlace) has(b Bucket, key []byte) bool {
	return (b != Meta || !bytes.Equal(key, formatKey)) && p.upgradePlace.has(b, key)
}
