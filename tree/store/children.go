package store

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/dogwooddb/dogwood/tree"
)

func hasPrefix(k, prefix []byte) bool { return k != nil && bytes.HasPrefix(k, prefix) }

// A child is one row of a container with its key.
type child struct {
	key string
	row row
}

// children yields a container's rows in key order.
func (tx *Tx) children(container uint64) iter.Seq2[child, error] {
	return tx.childrenFrom(container, idKey(container))
}

// childrenFrom yields a container's rows from the given row key on, in key
// order.
func (tx *Tx) childrenFrom(container uint64, from []byte) iter.Seq2[child, error] {
	prefix := idKey(container)
	return func(yield func(child, error) bool) {
		c := tx.kv.cursor(bucketRows)
		for k, v := c.seek(from); hasPrefix(k, prefix); k, v = c.next() {
			ch, err := tx.child(k, v)
			if !yield(ch, err) || err != nil {
				return
			}
		}
	}
}

// childrenBefore yields a container's rows with row keys below end, from the
// last to the first.
func (tx *Tx) childrenBefore(container uint64, end []byte) iter.Seq2[child, error] {
	prefix := idKey(container)
	return func(yield func(child, error) bool) {
		c := tx.kv.cursor(bucketRows)
		for k, v := seekBefore(c, end); hasPrefix(k, prefix); k, v = c.prev() {
			ch, err := tx.child(k, v)
			if !yield(ch, err) || err != nil {
				return
			}
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
func seekBefore(c kvCursor, end []byte) (k, v []byte) {
	if k, _ := c.seek(end); k == nil {
		return c.last()
	}
	return c.prev()
}

func (tx *Tx) child(k, v []byte) (child, error) {
	if err := tx.tick(); err != nil {
		return child{}, err
	}
	key, ok := decodeKey(k[8:])
	if !ok {
		return child{}, fmt.Errorf("%w: unreadable key of a row", ErrDamaged)
	}
	r, err := decodeRow(v)
	return child{key, r}, err
}

// A Listing is what a shallow read shows (REST §4.5).
type Listing struct {
	Leaf tree.Node // the node without its priority if it is a leaf
	Keys []string  // of the children in key order, if it is an object
}

// Shallow lists the keys of the node at p that sort behind after ("" for all),
// at most limit of them (0 for all). It costs the rows of the children, however
// much lies below them.
func (tx *Tx) Shallow(p tree.Path, after string, limit int) (Listing, error) {
	r, rest, err := tx.find(p)
	if err != nil || !r.exists() {
		return Listing{}, err
	}
	if r.tag == tagContainer {
		return tx.shallowContainer(r.id, after, limit)
	}
	n := r.node.Get(rest)
	if r.tag == tagBlob && rest.IsRoot() {
		n, err = tx.load(r, 0)
	}
	if err != nil || n.IsLeaf() {
		return Listing{Leaf: n.Value()}, err
	}
	var l Listing
	for key := range n.Children() {
		if after != "" && tree.CompareKeys(key, after) <= 0 {
			continue
		}
		if l.Keys = append(l.Keys, key); len(l.Keys) == limit {
			break
		}
	}
	return l, nil
}

func (tx *Tx) shallowContainer(id uint64, after string, limit int) (Listing, error) {
	var l Listing
	c := tx.kv.cursor(bucketRows)
	prefix := idKey(id)
	from := prefix
	if after != "" {
		from = boundKey(id, after)
	}
	for k, _ := c.seek(from); hasPrefix(k, prefix); k, _ = c.next() {
		if err := tx.tick(); err != nil {
			return Listing{}, err
		}
		key, ok := decodeKey(k[8:])
		if !ok {
			return Listing{}, fmt.Errorf("%w: unreadable key of a row", ErrDamaged)
		}
		if after != "" && tree.CompareKeys(key, after) <= 0 {
			continue
		}
		if l.Keys = append(l.Keys, key); len(l.Keys) == limit {
			break
		}
	}
	return l, nil
}
