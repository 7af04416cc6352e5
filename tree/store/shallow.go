package store

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A Listing is what a shallow read shows (REST §4.5).
type Listing struct {
	Leaf tree.Node // the node without its priority if it is a leaf
	Keys KeyList   // of the children in key order, if it is an object
}

// Shallow lists the keys of the node at p that sort behind after ("" for all),
// at most limit of them (0 for all). It costs the rows of the children, however
// much lies below them.
func (tx *Tx) Shallow(p tree.Path, after string, limit int) (l Listing, err error) {
	r, rest, err := tx.find(p)
	if err != nil || !r.exists() {
		return l, err
	}
	if r.tag == tagContainer {
		err = read(tx).listKeys(&l.Keys, r.id, after, limit)
		return l, err
	}
	n := r.node.Get(rest)
	if r.tag == tagBlob && rest.IsRoot() {
		n, err = read(tx).load(r, 0)
	}
	if err != nil || n.IsLeaf() {
		l.Leaf = n.Value()
		return l, err
	}
	for key := range n.Children() {
		if after != "" && tree.CompareKeys(key, after) <= 0 {
			continue
		}
		if err := l.Keys.add([]byte(key)); err != nil || l.Keys.Len() == limit {
			return l, err
		}
	}
	return l, nil
}

// listKeys adds the keys of a container.
func (rd reader) listKeys(list *KeyList, container uint64, after string, limit int) error {
	prefix := idKey(container)
	from := prefix
	if after != "" {
		from = boundKey(container, after)
	}
	var key []byte
	c := rd.cursor(kv.Rows, prefix)
	for k, _ := c.Seek(from); hasPrefix(k, prefix); k, _ = c.Next() {
		if err := rd.tx.tick(); err != nil {
			return err
		}
		var ok bool
		if key, ok = appendDecoded(key[:0], k[len(prefix):]); !ok {
			return fmt.Errorf("%w: unreadable key of a row", ErrDamaged)
		}
		if after != "" && tree.CompareKeys(string(key), after) <= 0 {
			continue
		}
		if err := list.grow(rd.tx, len(key)); err != nil {
			return err
		}
		if err := list.add(key); err != nil || list.Len() == limit {
			return err
		}
	}
	return c.Err()
}

// A KeyList is keys in order. It keeps them in one piece, since there may be very many of
// them: so they are no work for the garbage collector. The zero KeyList is empty. A
// []string of a million keys would cost 16 bytes for each header and a pointer that every
// collection follows. Here it is two allocations.
type KeyList struct {
	text []byte
	ends []uint32 // of each key in the text
}

// Len returns the number of keys.
func (l KeyList) Len() int { return len(l.ends) }

// Size returns the length of all keys together.
func (l KeyList) Size() int { return len(l.text) }

// All yields the keys.
func (l KeyList) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		text, from := string(l.text), uint32(0)
		for _, end := range l.ends {
			if !yield(text[from:end]) {
				return
			}
			from = end
		}
	}
}

// add appends a key. It fails if the list takes gigabytes.
func (l *KeyList) add(key []byte) error {
	if len(l.text)+len(key) > math.MaxUint32 {
		return ErrTooBig
	}
	l.text = append(l.text, key...)
	l.ends = append(l.ends, uint32(len(l.text)))
	return nil
}

// grow makes room for n more bytes of keys, and asks for it before.
func (l *KeyList) grow(tx *Tx, n int) error {
	if cap(l.text)-len(l.text) >= n {
		return nil
	}
	more := max(len(l.text)/2, n, 4<<10)
	if err := tx.hold(more); err != nil {
		return err
	}
	l.text = slices.Grow(l.text, more)
	return nil
}
