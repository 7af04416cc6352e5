package store

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

func hasPrefix(k, prefix []byte) bool { return k != nil && bytes.HasPrefix(k, prefix) }

// A child is one row of a container with its key.
type child struct {
	key string
	row row
}

// children yields a container's rows in key order.
func (tx *Tx) children(container uint64) iter.Seq2[child, error] {
	return read(tx).childrenFrom(container, idKey(container))
}

// childrenFrom yields a container's rows from the given row key on, in key
// order.
func (rd reader) childrenFrom(container uint64, from []byte) iter.Seq2[child, error] {
	prefix := idKey(container)
	return func(yield func(child, error) bool) {
		c := rd.tx.kv.Cursor(kv.Rows)
		for k, v := c.Seek(from); hasPrefix(k, prefix); k, v = c.Next() {
			ch, err := rd.child(k, v)
			if !yield(ch, err) || err != nil {
				return
			}
		}
		if err := c.Err(); err != nil {
			yield(child{}, err)
		}
	}
}

// childrenBefore yields a container's rows with row keys below end, from the
// last to the first.
func (rd reader) childrenBefore(container uint64, end []byte) iter.Seq2[child, error] {
	prefix := idKey(container)
	return func(yield func(child, error) bool) {
		c := rd.tx.kv.Cursor(kv.Rows)
		for k, v := seekBefore(c, end); hasPrefix(k, prefix); k, v = c.Prev() {
			ch, err := rd.child(k, v)
			if !yield(ch, err) || err != nil {
				return
			}
		}
		if err := c.Err(); err != nil {
			yield(child{}, err)
		}
	}
}

// boundKey is rowKey for the bound of a range, which need not be a valid key.
func boundKey(container uint64, key string) []byte { return appendBound(idKey(container), key) }

// appendBound is appendKey for bounds. Text that is empty or begins with a
// control character sorts behind the integers and before all other keys.
func appendBound(dst []byte, key string) []byte {
	if key == "" || key[0] < 0x20 {
		return append(dst, markInteger+1)
	}
	return appendKey(dst, key)
}

// seekBefore returns the last entry below end.
func seekBefore(c kv.Cursor, end []byte) (k, v []byte) {
	if k, _ := c.Seek(end); k == nil {
		if c.Err() != nil {
			return nil, nil
		}
		return c.Last()
	}
	return c.Prev()
}

func (rd reader) child(k, v []byte) (child, error) {
	rd.tx.stats.Visited++
	if err := rd.tx.tick(); err != nil {
		return child{}, err
	}
	key, ok := decodeKey(k[8:])
	if !ok {
		return child{}, fmt.Errorf("%w: unreadable key of a row", ErrDamaged)
	}
	r, err := decodeRow(v)
	return child{key, r}, err
}
