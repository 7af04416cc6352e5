package store

import (
	"encoding/binary"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// The methods in this file make the rows of a load.

// container returns a new container at p. It has no id, and nothing of it is
// stored, until it has a child.
func (l *Load) container(p tree.Path) *loadContainer {
	return &loadContainer{path: p, indexes: l.indexes.at(p)}
}

// add makes row a child of a container. An absent row takes away the child that
// had the same key before.
func (l *Load) add(c *loadContainer, key string, child row) error {
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

func (l *Load) indexChild(c *loadContainer, key string, child row) error {
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

// close ends a container and reports whether it has children: some may have been
// taken away again.
func (l *Load) close(c *loadContainer) (present bool, err error) {
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
		present = !empty
		return err
	})
	return present, err
}

// complete has the children of a container counted that has no more of them.
func (l *Load) complete(c *loadContainer) error {
	if c.id == 0 {
		return nil
	}
	return l.step(loadOp{do: countChildren, container: c})
}

// node makes the row of a value that is in memory, and the rows below it.
func (l *Load) node(at place, n tree.Node) (row, error) {
	switch {
	case n.IsEmpty():
		return row{}, nil
	case len(n.Text()) <= PackLimit:
		return packedRow(n), nil
	case n.IsLeaf():
		return l.leaf(n)
	}
	c := l.container(at.resolve())
	for key, child := range n.Children() {
		r, err := l.node(place{c.path, key}, child)
		if err != nil {
			return row{}, err
		}
		if err := l.add(c, key, r); err != nil {
			return row{}, err
		}
	}
	return row{tag: tagContainer, id: c.id, priority: n.Priority()}, l.complete(c)
}

// leaf stores a long string as a blob.
func (l *Load) leaf(n tree.Node) (row, error) {
	b, err := l.newBlob()
	if err != nil {
		return row{}, err
	}
	s, _ := n.StringValue()
	for part := range slices.Chunk([]byte(s), chunkBytes) {
		if err := l.chunk(b, string(part)); err != nil {
			return row{}, err
		}
	}
	b.row.priority = n.Priority()
	return b.row, nil
}

// A loadBlob is a long string that is being loaded.
type loadBlob struct {
	row    row
	chunks uint32
}

func (l *Load) newBlob() (*loadBlob, error) {
	id, err := l.newID()
	return &loadBlob{row: row{tag: tagBlob, id: id}}, err
}

// chunk appends to a blob.
func (l *Load) chunk(b *loadBlob, part string) error {
	if part == "" {
		return nil
	}
	key := binary.BigEndian.AppendUint32(idKey(b.row.id), b.chunks)
	b.chunks++
	b.row.size += uint64(len(part))
	return l.step(loadOp{do: putChunk, key: key, value: []byte(part)})
}

// withPriority returns the row with the given priority, or with none.
func (l *Load) withPriority(at place, r row, priority tree.Node) (row, error) {
	switch r.tag {
	case 0:
		return r, nil
	case tagPacked:
		return l.node(at, r.node.WithPriority(priority))
	}
	r.priority = priority
	return r, nil
}

// drop lets go of a value that another one replaces.
func (l *Load) drop(r row) {
	if r.tag == tagContainer || r.tag == tagBlob {
		l.batch.add(loadOp{do: dropChild, child: r})
	}
}

// step adds a step to the batch and stores the batch if it is full.
func (l *Load) step(op loadOp) error {
	l.batch.add(op)
	if l.batch.size() < l.options.SliceBytes {
		return nil
	}
	return l.hand()
}
