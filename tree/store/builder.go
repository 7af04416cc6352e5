package store

import (
	"encoding/binary"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// A rowBuilder makes the rows of a load.
//
// It is the receiver that [tree.ParseStream] calls while it reads. Its methods
// run on the goroutine of [Load.Read], while the batch before is stored by
// another one: it may touch Load.batch and never Load.storing. It makes rows
// without looking at the store, so that the transaction that stores them is
// short. The exceptions flush first: a new range of ids, and hasChildren.
type rowBuilder struct{ *Load }

// Node makes the row of a value that is in memory. What a stream stores are rows.
func (l rowBuilder) Node(at tree.Path, n tree.Node) (tree.Stored, error) {
	return stored(l.node(at, "", n))
}

// Container returns a new container at a path.
func (l rowBuilder) Container(at tree.Path) tree.Container { return l.container(at) }

// String begins a blob.
func (l rowBuilder) String() (tree.LongString, error) { return l.newBlob() }

// WithPriority returns a row with the given priority, or with none.
func (l rowBuilder) WithPriority(at tree.Path, v tree.Stored, priority tree.Node) (tree.Stored, error) {
	r := v.(row)
	if r.tag == tagPacked {
		return l.Node(at, r.node.WithPriority(priority))
	}
	r.priority = priority
	return r, nil
}

// Drop lets go of a row that another one replaces.
func (l rowBuilder) Drop(v tree.Stored) {
	if r := v.(row); r.tag == tagContainer || r.tag == tagBlob {
		l.batch.add(loadOp{do: dropChild, child: r})
	}
}

// ServerValue returns what the options have in place of a server value.
func (l rowBuilder) ServerValue(at tree.Target, v tree.Draft) (n tree.Node, ok bool) {
	if l.options.ServerValue == nil {
		return tree.Empty, false
	}
	return l.options.ServerValue(at, v), true
}

// stored returns a row as a value of a stream.
func stored(r row, err error) (tree.Stored, error) {
	if err != nil || !r.exists() {
		return nil, err
	}
	return r, nil
}

// Node adds a child that is in memory.
func (c *loadContainer) Node(key string, n tree.Node) error {
	r, err := c.to.node(c.path, key, n)
	if err != nil {
		return err
	}
	return c.to.add(c, key, r)
}

// Child adds a child that is stored.
func (c *loadContainer) Child(key string, v tree.Stored) error { return c.to.add(c, key, v.(row)) }

// Close ends the container. Its row is absent if it has no children.
func (c *loadContainer) Close(priority tree.Node) (tree.Stored, error) {
	if has, err := c.to.hasChildren(c); err != nil || !has {
		return nil, err
	}
	return row{tag: tagContainer, id: c.id, priority: priority}, nil
}

// container returns a new container at p. It has no id, and nothing of it is
// stored, until it has a child.
func (l rowBuilder) container(p tree.Path) *loadContainer {
	return &loadContainer{to: l, path: p, indexes: l.indexes.at(p)}
}

// add makes row a child of a container. An absent row takes away the child that
// had the same key before.
//
// Keys usually ascend, since exports are in order. Then a row cannot be there
// yet, and is put without a look. A key that does not ascend may replace one
// that came before, with everything that hangs on it, so it costs a read in the
// transaction.
func (l rowBuilder) add(c *loadContainer, key string, child row) error {
	ascends := c.last == "" || tree.CompareKeys(c.last, key) < 0
	switch {
	case !child.exists() && (ascends || c.id == 0):
		return nil
	case !child.exists():
		c.gaps = true
		return l.step(loadOp{do: deleteRow, key: l.batch.rowKey(c.id, key), container: c})
	}
	if c.id == 0 {
		id, err := l.newID()
		if err != nil {
			return err
		}
		c.id = id
	}
	c.rows++
	op := loadOp{do: putRow, key: l.batch.rowKey(c.id, key), value: l.batch.encode(child), container: c}
	if ascends {
		c.last = key
	} else {
		op.do = replaceRow
	}
	if err := l.step(op); err != nil {
		return err
	}
	return l.indexChild(c, key, child)
}

// The value of a packed child is known here. That of a container or blob is in rows that
// were stored before, so the step that stores the entry reads it there.
func (l rowBuilder) indexChild(c *loadContainer, key string, child row) error {
	if child.tag != tagPacked && len(c.indexes) > 1 {
		return l.step(loadOp{do: indexChild, key: l.batch.rowKey(c.id, key), container: c, child: child})
	}
	for _, ix := range c.indexes {
		v := child.nodePriority()
		if ix.Order != tree.ByPriority {
			v = shallowIndexValue(tree.IndexValue(ix.Order, child.node))
		} else if v.IsEmpty() {
			continue
		}
		if err := l.step(loadOp{do: putIndex, key: entryKey(ix.id, c.id, v, key)}); err != nil {
			return err
		}
	}
	return nil
}

// hasChildren reports whether a container that is complete has children: some may have
// been taken away again.
//
// Rows that were added and deleted again cannot be counted from here, because a key may
// have come several times. That is rare enough to ask the store.
func (l rowBuilder) hasChildren(c *loadContainer) (has bool, err error) {
	if err := l.complete(c); err != nil {
		return false, err
	}
	if !c.gaps || l.store == nil {
		return c.rows > 0, nil
	}
	if err := l.flush(0); err != nil { // now what is left of it can be seen
		return false, err
	}
	err = l.store.View(func(tx *Tx) error {
		empty, err := edits(tx).hasNoRows(c.id)
		has = !empty
		return err
	})
	return has, err
}

// complete has the children of a container counted that has no more of them.
func (l rowBuilder) complete(c *loadContainer) error {
	if c.id == 0 {
		return nil
	}
	return l.step(loadOp{do: countChildren, container: c})
}

// node makes the row of a value that is in memory, and the rows below it. It goes to a path,
// or to a key there unless that is "".
func (l rowBuilder) node(at tree.Path, key string, n tree.Node) (row, error) {
	switch {
	case n.IsEmpty():
		return row{}, nil
	case len(n.Text()) <= PackLimit:
		return packedRow(n), nil
	case n.IsLeaf():
		return l.leaf(n)
	}
	c := l.container(below(at, key))
	for key, child := range n.Children() {
		r, err := l.node(c.path, key, child)
		if err != nil {
			return row{}, err
		}
		if err := l.add(c, key, r); err != nil {
			return row{}, err
		}
	}
	return row{tag: tagContainer, id: c.id, priority: n.Priority()}, l.complete(c)
}

// below returns the path of a child, and the path itself if the key is "".
func below(p tree.Path, key string) tree.Path {
	if key == "" {
		return p
	}
	return p.Child(key)
}

// leaf stores a long string as a blob.
func (l rowBuilder) leaf(n tree.Node) (row, error) {
	b, err := l.newBlob()
	if err != nil {
		return row{}, err
	}
	s, _ := n.StringValue()
	for part := range slices.Chunk([]byte(s), chunkBytes) {
		if err := b.Append(string(part)); err != nil {
			return row{}, err
		}
	}
	b.row.priority = n.Priority()
	return b.row, nil
}

// A loadBlob is a long string that is being loaded.
//
// Chunks are put as they arrive, and the row that has the size only at the end.
// So a string of any length takes the memory of one chunk.
type loadBlob struct {
	to     rowBuilder
	row    row
	chunks uint32
}

func (l rowBuilder) newBlob() (*loadBlob, error) {
	id, err := l.newID()
	return &loadBlob{to: l, row: row{tag: tagBlob, id: id}}, err
}

// Value returns the row of the blob.
func (b *loadBlob) Value() tree.Stored { return b.row }

// Append adds a chunk.
func (b *loadBlob) Append(part string) error {
	if part == "" {
		return nil
	}
	key := binary.BigEndian.AppendUint32(idKey(b.row.id), b.chunks)
	b.chunks++
	b.row.size += uint64(len(part))
	return b.to.step(loadOp{do: putChunk, key: key, value: []byte(part)})
}

// step adds a step to the batch and stores the batch if it is full.
func (l rowBuilder) step(op loadOp) error {
	l.batch.add(op)
	if l.batch.size() < l.options.SliceBytes {
		return nil
	}
	return l.hand()
}
