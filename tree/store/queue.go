package store

import (
	"encoding/binary"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// Kinds of entries in the reclaim queue.
//
// The queue is ordered by kind and id, not by time. It does not matter which of
// them is freed first, since nothing refers to any of them.
const (
	reclaimContainer = 'c'
	reclaimBlob      = 'b'
	reclaimIndex     = 'x'
	reclaimRange     = 'r' // all that has ids of a range
)

// enqueue puts something that is no longer reachable on the reclaim queue.
func (e editor) enqueue(kind byte, id uint64) error {
	e.tx.work = true
	return e.tx.put(kv.Reclaim, append([]byte{kind}, idKey(id)...), nil)
}

// idRangeBytes is the length of an encoded idRange.
const idRangeBytes = 16

// An idRange is the ids from from up to to, which is not in it. What has them
// belongs to one load.
type idRange struct{ from, to uint64 }

func (r idRange) has(id uint64) bool { return id >= r.from && id < r.to }

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
