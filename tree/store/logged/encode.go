package logged

import (
	"encoding/binary"
	"errors"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// The rows of a record are how a commit changes the file, so that it can be done again:
//
//	number of the database's record before u64 |
//	( bucket u8 | length of the key uvarint | length of the value + 1 uvarint, 0: deleted | key | value )*
//
// in little endian.

var errRows = errors.New("unreadable rows in the log")

// rowHead is at least what rows have in addition to their key and value, but for very long ones.
const rowHead = 1 + 2 + 3

func encodeRows(previous uint64, own *kv.Layer) []byte {
	b := make([]byte, 0, 8+own.DataBytes()+int64(own.Len())*rowHead)
	b = binary.LittleEndian.AppendUint64(b, previous)
	for e := range own.All() {
		b = append(b, byte(e.Bucket))
		b = binary.AppendUvarint(b, uint64(len(e.Key)))
		if e.Value == nil {
			b = append(b, 0)
		} else {
			b = binary.AppendUvarint(b, uint64(len(e.Value))+1)
		}
		b = append(append(b, e.Key...), e.Value...)
	}
	return b
}

// decodeRows calls set for every row. Keys and values are parts of b.
func decodeRows(b []byte, set func(b kv.Bucket, key, value []byte)) (previous uint64, err error) {
	if len(b) < 8 {
		return 0, errRows
	}
	previous, b = binary.LittleEndian.Uint64(b), b[8:]
	for len(b) > 0 {
		bucket := kv.Bucket(b[0])
		keyLength, n := binary.Uvarint(b[1:])
		if n <= 0 || !kv.IsBucket(bucket) {
			return 0, errRows
		}
		b = b[1+n:]
		valueLength, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, errRows
		}
		b = b[n:]
		size := valueLength
		if size > 0 {
			size--
		}
		if keyLength > uint64(len(b)) || size > uint64(len(b))-keyLength {
			return 0, errRows
		}
		key := b[:keyLength:keyLength]
		value := b[keyLength : keyLength+size : keyLength+size]
		if valueLength == 0 {
			value = nil
		}
		set(bucket, key, value)
		b = b[keyLength+size:]
	}
	return previous, nil
}
