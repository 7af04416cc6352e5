package store

import (
	"iter"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// Has reports whether there is a node at p. It costs one row for each level of
// containers, however large the node.
func (tx *Tx) Has(p tree.Path) (bool, error) {
	r, rest, err := found(tx, p, false)
	if err != nil || !r.exists() {
		return false, err
	}
	if r.tag == tagPacked {
		return !r.node.Get(rest).IsEmpty(), nil
	}
	return rest.IsRoot(), nil
}

// Get returns the node at p.
func (tx *Tx) Get(p tree.Path) (tree.Node, error) { return tx.GetLimit(p, 0) }

// GetLimit is Get with a limit on the bytes of canonical JSON; beyond it the
// error is ErrTooBig. A limit of 0 is none.
func (tx *Tx) GetLimit(p tree.Path, limit int64) (tree.Node, error) {
	r, rest, err := tx.find(p)
	if err != nil || !r.exists() {
		return tree.Empty, err
	}
	if r.tag == tagPacked {
		return r.node.Get(rest), nil
	}
	if !rest.IsRoot() { // below a blob
		return tree.Empty, nil
	}
	return read(tx).load(r, limit)
}

// Window returns the node at p with only the children inside the query's
// window, and its own priority: what a filtered listen shows. A limit on the
// bytes of canonical JSON, if not 0, makes it fail with ErrTooBig.
func (tx *Tx) Window(p tree.Path, q tree.Query, limit int64) (tree.Node, error) {
	if q.IsAll() {
		return tx.GetLimit(p, limit)
	}
	r, rest, err := tx.find(p)
	if err != nil {
		return tree.Empty, err
	}
	entries, err := read(tx).entries(r, rest, p, q)
	if err != nil {
		return tree.Empty, err
	}
	return read(tx).collect(r, rest, entries, limit)
}

// Children is Window for entries that are known to be those of the window in this state.
// It costs their rows, with or without an index.
func (tx *Tx) Children(p tree.Path, window []tree.Entry, limit int64) (tree.Node, error) {
	r, rest, err := tx.find(p)
	if err != nil {
		return tree.Empty, err
	}
	return read(tx).collect(r, rest, slices.Clone(window), limit)
}

// Peek returns the node at p if it is a leaf. Of an object it only says that it
// is one, which costs what Has does.
func (tx *Tx) Peek(p tree.Path) (leaf tree.Node, isObject bool, err error) {
	r, rest, err := found(tx, p, false)
	if err == nil && r.cut && r.tag == tagBlob {
		r, rest, err = tx.find(p)
	}
	switch {
	case err != nil || !r.exists():
		return tree.Empty, false, err
	case r.tag == tagContainer:
		return tree.Empty, true, nil
	case r.tag == tagBlob && rest.IsRoot():
		leaf, err = read(tx).load(r, 0)
		return leaf, false, err
	}
	if n := r.node.Get(rest); !n.IsObject() {
		return n, false, nil
	}
	return tree.Empty, true, nil
}

// PeekUpTo is Peek that does not read a string which is longer than some bytes. ok is false if it is.
func (tx *Tx) PeekUpTo(p tree.Path, bytes int) (leaf tree.Node, isObject, ok bool, err error) {
	r, rest, err := found(tx, p, false)
	if err == nil && r.tag == tagBlob && rest.IsRoot() && r.size > uint64(bytes) {
		return tree.Empty, false, false, nil
	}
	leaf, isObject, err = tx.Peek(p)
	return leaf, isObject, true, err
}

// Keys yields the keys of the children of the node at p in key order. It reads
// one row for each that is asked for.
func (tx *Tx) Keys(p tree.Path) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r, rest, err := found(tx, p, false)
		if err != nil {
			yield("", err)
			return
		}
		if r.tag == tagContainer {
			tx.children(r.id)(func(c child, err error) bool { return yield(c.key, err) })
			return
		}
		for key := range r.node.Get(rest).Children() {
			if !yield(key, nil) {
				return
			}
		}
	}
}

// Priority returns the priority of the node at p.
func (tx *Tx) Priority(p tree.Path) (tree.Node, error) {
	r, rest, err := tx.find(p)
	return r.priorityAt(rest), err
}
