package store

import (
	"encoding/binary"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/load"
)

// A rowBuilder makes the rows of a load.
type rowBuilder struct{ *Load }

var _ load.Builder[row, *loadContainer] = rowBuilder{}

// Container returns a new container at p. It has no id, and nothing of it is
// stored, until it has a child.
func (l rowBuilder) Container(p tree.Path) *loadContainer {
	return &loadContainer{path: p, indexes: l.indexes.at(p)}
}

// Add makes row a child of a container. An absent row takes away the child that
// had the same key before.
func (l rowBuilder) Add(c *loadContainer, key string, child row) error {
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

// Close ends a container. Its row is absent if it has no children.
func (l rowBuilder) Close(c *loadContainer, priority tree.Node) (r row, present bool, err error) {
	if present, err = l.hasChildren(c); err != nil || !present {
		return row{}, false, err
	}
	return row{tag: tagContainer, id: c.id, priority: priority}, true, nil
}

// hasChildren reports whether a container that is complete has children: some may have
// been taken away again.
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
		empty, err := edits(tx).isEmpty(c.id)
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

// Node makes the row of a value that is in memory, and the rows below it.
func (l rowBuilder) Node(at load.Place, n tree.Node) (row, error) {
	switch {
	case n.IsEmpty():
		return row{}, nil
	case len(n.Text()) <= PackLimit:
		return packedRow(n), nil
	case n.IsLeaf():
		return l.leaf(n)
	}
	c := l.Container(at.Resolve())
	for key, child := range n.Children() {
		r, err := l.Node(load.Place{Path: c.path, Key: key}, child)
		if err != nil {
			return row{}, err
		}
		if err := l.Add(c, key, r); err != nil {
			return row{}, err
		}
	}
	return row{tag: tagContainer, id: c.id, priority: n.Priority()}, l.complete(c)
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
type loadBlob struct {
	to     rowBuilder
	row    row
	chunks uint32
}

func (l rowBuilder) newBlob() (*loadBlob, error) {
	id, err := l.newID()
	return &loadBlob{to: l, row: row{tag: tagBlob, id: id}}, err
}

// String begins a blob.
func (l rowBuilder) String() (load.String[row], error) { return l.newBlob() }

// Value returns the row of the blob.
func (b *loadBlob) Value() row { return b.row }

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

// WithPriority returns the row with the given priority, or with none.
func (l rowBuilder) WithPriority(at load.Place, r row, priority tree.Node) (row, error) {
	switch r.tag {
	case 0:
		return r, nil
	case tagPacked:
		return l.Node(at, r.node.WithPriority(priority))
	}
	r.priority = priority
	return r, nil
}

// Drop lets go of a value that another one replaces.
func (l rowBuilder) Drop(r row) {
	if r.tag == tagContainer || r.tag == tagBlob {
		l.batch.add(loadOp{do: dropChild, child: r})
	}
}

// step adds a step to the batch and stores the batch if it is full.
func (l rowBuilder) step(op loadOp) error {
	l.batch.add(op)
	if l.batch.size() < l.options.SliceBytes {
		return nil
	}
	return l.hand()
}
