// Package kept has the rows that declared data needs and that are not in the tree, in bucket e of a store:
// how many source nodes of a map share a place, and which places have a source while a map is
// built. They are the store's half of package derive,
// and know nothing of documents: a definition is a number here.
package kept

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// An ID is the number of a definition. It is never given again, so rows of one that was taken
// out mean nothing to a later one of the same name.
type ID uint32

// Keys of bucket e begin with one of these.
const (
	shared = 's' // definition, place → number of source nodes
	marked = 'm' // definition, place → 1: it has a source
)

// kinds are all of them.
var kinds = []byte{shared, marked}

// Rows are those of a transaction.
type Rows struct{ entries kv.Entries }

// Of returns the rows as of a transaction.
func Of(e kv.Entries) Rows { return Rows{e} }

func keyOf(kind byte, id ID, rest string) []byte {
	k := make([]byte, 0, 5+len(rest))
	k = binary.BigEndian.AppendUint32(append(k, kind), uint32(id))
	return append(k, rest...)
}

// Sources returns how many source nodes of a definition share a place.
func (r Rows) Sources(id ID, place tree.Path) (int, error) {
	v, err := r.entries.Get(kv.Declared, keyOf(shared, id, place.Clean()))
	if err != nil || v == nil {
		return 0, err
	}
	n, size := binary.Uvarint(v)
	if size != len(v) {
		return 0, fmt.Errorf("%w: unreadable number of sources of %s", kv.ErrDamaged, place)
	}
	return int(n), nil
}

// SetSources stores how many source nodes share a place.
func (r Rows) SetSources(id ID, place tree.Path, n int) error {
	k := keyOf(shared, id, place.Clean())
	if n == 0 {
		return r.entries.Delete(kv.Declared, k)
	}
	return r.entries.Put(kv.Declared, k, binary.AppendUvarint(nil, uint64(n)))
}

// Mark notes that a place has a source.
func (r Rows) Mark(id ID, place tree.Path) error {
	return r.entries.Put(kv.Declared, keyOf(marked, id, place.Clean()), []byte{1})
}

// Marked reports whether a place has a source.
func (r Rows) Marked(id ID, place tree.Path) (bool, error) {
	v, err := r.entries.Get(kv.Declared, keyOf(marked, id, place.Clean()))
	return v != nil, err
}

// Drop deletes rows of a definition, at most a number of them. It reports whether there are
// more.
func (r Rows) Drop(id ID, rows int) (more bool, err error) { return r.drop(kinds, id, rows) }

// Unmark is Drop for marks alone.
func (r Rows) Unmark(id ID, rows int) (more bool, err error) { return r.drop([]byte{marked}, id, rows) }

func (r Rows) drop(kinds []byte, id ID, rows int) (more bool, err error) {
	for _, kind := range kinds {
		prefix := keyOf(kind, id, "")
		var keys [][]byte
		c := r.entries.Cursor(kv.Declared)
		k, _ := c.Seek(prefix)
		for ; k != nil && bytes.HasPrefix(k, prefix) && len(keys) < rows; k, _ = c.Next() {
			keys = append(keys, bytes.Clone(k))
		}
		if err := c.Err(); err != nil {
			return false, err
		}
		for _, k := range keys {
			if err := r.entries.Delete(kv.Declared, k); err != nil {
				return false, err
			}
		}
		if rows -= len(keys); rows == 0 {
			return true, nil
		}
	}
	return false, nil
}

// Check reports rows that cannot be read.
func (r Rows) Check(report func(format string, args ...any)) {
	c := r.entries.Cursor(kv.Declared)
	k, v := c.Seek(nil)
	for ; k != nil; k, v = c.Next() {
		if len(k) < 5 || bytes.IndexByte(kinds, k[0]) < 0 {
			report("declared data: unreadable key %x", k)
			continue
		}
		if k[0] != shared {
			continue
		}
		if n, size := binary.Uvarint(v); size != len(v) || n == 0 {
			report("declared data: unreadable number of sources at %x", k)
		}
	}
	if err := c.Err(); err != nil {
		report("declared data: %w", err)
	}
}
