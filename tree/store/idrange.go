package store

import (
	"bytes"
	"encoding/binary"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// An idRange is the ids from from up to to, which is not in it. What has them
// belongs to one load.
type idRange struct{ from, to uint64 }

func (r idRange) has(id uint64) bool { return id >= r.from && id < r.to }

const idRangeBytes = 16

func (r idRange) append(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, r.from), r.to)
}

// decodeRange reads a range and checks that it is one.
func decodeRange(b []byte) (r idRange, ok bool) {
	if len(b) != idRangeBytes {
		return r, false
	}
	r = idRange{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
	return r, r.from > 0 && r.from < r.to
}

func encodeRanges(list []idRange) []byte {
	b := make([]byte, 0, len(list)*idRangeBytes)
	for _, r := range list {
		b = r.append(b)
	}
	return b
}

func decodeRanges(b []byte) (list []idRange, ok bool) {
	for ; len(b) >= idRangeBytes; b = b[idRangeBytes:] {
		r, ok := decodeRange(b[:idRangeBytes])
		if !ok {
			return nil, false
		}
		list = append(list, r)
	}
	return list, len(b) == 0
}

// reclaimKey is the entry of the reclaim queue for all that has ids of the
// range.
func (r idRange) reclaimKey() []byte { return r.append([]byte{reclaimRange}) }

// ids frees what has ids of a range: the rows of its containers, its blobs and
// its index entries. What hangs on the rows is in a range of the same load.
func (f *reclaimer) ids(r idRange) (done bool, err error) {
	c, err := f.tx.Indexes().catalogue()
	if err != nil {
		return false, err
	}
	for _, ix := range append([]definition{priorityIndex}, c.all...) {
		done, err = f.deleteRange(kv.Index, indexPrefix(ix.id, r.from), indexPrefix(ix.id, r.to))
		if err != nil || !done {
			return false, err
		}
	}
	for _, b := range []kv.Bucket{kv.Rows, kv.Blobs, kv.Counts} {
		if done, err = f.deleteRange(b, idKey(r.from), idKey(r.to)); err != nil || !done {
			return false, err
		}
	}
	return true, nil
}

// deleteRange deletes entries from a key up to another, as many as the budget
// allows. See deletePrefixed.
func (f *reclaimer) deleteRange(b kv.Bucket, from, to []byte) (done bool, err error) {
	var keys [][]byte
	c := f.tx.kv.Cursor(b)
	k, _ := c.Seek(from)
	within := func() bool { return k != nil && bytes.Compare(k, to) < 0 }
	for limit := f.limit(); within() && len(keys) < limit; k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	if err := c.Err(); err != nil {
		return false, err
	}
	done = !within()
	for _, k := range keys {
		if err := f.tx.delete(b, k); err != nil {
			return false, err
		}
	}
	f.freed += len(keys)
	return done, nil
}
