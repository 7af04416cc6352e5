package store

import (
	"fmt"

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
	c := rd.cursor(kv.Rows)
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
