package store

import (
	"encoding/binary"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// An indexed value is what an index holds for one child: nothing if the child
// is absent.
type indexed struct {
	value tree.Node
	ok    bool
}

// shallowIndexValue replaces objects by one value: all are equal in order.
func shallowIndexValue(v tree.Node) tree.Node {
	if v.IsObject() {
		return objectValue
	}
	return v
}

// Indexes are the declared indexes and their entries, as a transaction sees them. Entries
// have no value: the key of an entry has everything that a walk needs, so a query reads
// the rows of its window and no others.
type Indexes struct {
	tx   *Tx
	part bool // of long strings only what entries hold is read
}

// Indexes returns the indexes as of the transaction.
func (tx *Tx) Indexes() Indexes { return Indexes{tx: tx} }

// forEntries has values read that only make entries. So a small write next to a string of
// megabytes that an index orders by does not read all of it.
func (x Indexes) forEntries() Indexes { return Indexes{x.tx, true} }

// indexedValue reads what ix holds for the node at p.
func (x Indexes) indexedValue(ix definition, p tree.Path) (indexed, error) {
	if ix.Order == tree.ByPriority {
		v, err := x.tx.Priority(p)
		return indexed{v, !v.IsEmpty()}, err
	}
	ok, err := x.tx.Has(p)
	if err != nil || !ok {
		return indexed{}, err
	}
	v, err := x.forEntries().valueAt(p, ix.Order)
	return indexed{v, true}, err
}

// valueAt returns the index value of the child at p.
func (x Indexes) valueAt(p tree.Path, order string) (tree.Node, error) {
	switch {
	case order == tree.ByPriority:
		return x.tx.Priority(p)
	case order == tree.ByValue:
		return x.shallowValue(found(x.tx, p, false))
	case tree.IsListOrder(order):
		r, rest, err := found(x.tx, p, false)
		if err != nil {
			return tree.Empty, err
		}
		return x.listValue(order, r, rest)
	}
	rel, err := tree.ParsePath(order)
	if err != nil {
		return tree.Empty, err
	}
	return x.shallowValue(found(x.tx, p.Join(rel), false))
}

// listValue returns the values of a child by several paths. The child is at rest in what find
// found.
func (x Indexes) listValue(order string, r row, rest tree.Path) (tree.Node, error) {
	if !r.exists() || r.tag == tagPacked {
		return tree.IndexValue(order, r.node.Get(rest)), nil
	}
	values := make([]tree.Node, 0, tree.MaxOrder)
	for rel := range tree.OrderPaths(order) {
		v, err := x.shallowValue(x.tx.follow(r, rest.Join(rel), false))
		if err != nil {
			return tree.Empty, err
		}
		values = append(values, v)
	}
	return tree.ListValue(values), nil
}

// shallowValue returns the index value of what find or follow found.
func (x Indexes) shallowValue(r row, rest tree.Path, err error) (tree.Node, error) {
	switch {
	case err != nil || !r.exists():
		return tree.Empty, err
	case r.tag == tagPacked:
		return shallowIndexValue(r.node.Get(rest).Value()), nil
	case !rest.IsRoot():
		return tree.Empty, nil
	case r.tag == tagContainer:
		return objectValue, nil
	case x.part:
		return read(x.tx).start(r)
	}
	n, err := read(x.tx).load(r, 0)
	return n.Value(), err
}

// A declared value is what a declared index holds for one of the rows on the way
// of a write.
type declaredValue struct {
	ix     definition
	step   int // of the row, whose parent is the one before
	before indexed
}

// reindexed runs change, which notes in steps what the rows are then, and makes
// the index entries of the containers on the way agree with it. Containers that
// change creates or discards take care of their own entries.
//
// The values before are read before the change, because afterwards the path
// leads to the new rows. Entries move only where a value differs, so a write to
// a field that no index orders by costs no entry. Every container on the way
// can be concerned, not only the last one: an index may order by a path that
// leads several levels down.
func (x Indexes) reindexed(steps []step, from int, change func() error) error {
	declared, err := x.declaredValues(steps, from)
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	countsOf(x.tx).noteSteps(steps, from)
	for _, d := range declared {
		after, err := x.rowIndexed(d.ix, steps[d.step].now)
		if err != nil {
			return err
		}
		if err := x.moveEntry(d.ix, steps, d.step, d.before, after); err != nil {
			return err
		}
	}
	for i := from; i < len(steps); i++ {
		before, after := steps[i].row.nodePriority(), steps[i].now.nodePriority()
		err := x.moveEntry(priorityIndex, steps, i, indexed{before, !before.IsEmpty()}, indexed{after, !after.IsEmpty()})
		if err != nil {
			return err
		}
	}
	return nil
}

// declaredValues reads what the declared indexes hold for the rows on the way.
func (x Indexes) declaredValues(steps []step, from int) (list []declaredValue, err error) {
	c, err := x.catalogue()
	if err != nil || len(c.all) == 0 {
		return nil, err
	}
	for i := from; i < len(steps); i++ {
		for ix := range c.declared(steps[i-1].path, i-1) {
			before, err := x.rowIndexed(ix, steps[i].row)
			if err != nil {
				return nil, err
			}
			list = append(list, declaredValue{ix, i, before})
		}
	}
	return list, nil
}

// rowIndexed returns what a declared index holds for a row.
func (x Indexes) rowIndexed(ix definition, r row) (indexed, error) {
	if !r.exists() {
		return indexed{}, nil
	}
	v, err := x.forEntries().rowValue(r, ix.Order)
	return indexed{v, true}, err
}

// moveEntry puts the entry for the row of a step where it belongs now.
func (x Indexes) moveEntry(ix definition, steps []step, i int, before, after indexed) error {
	if before == after {
		return nil
	}
	container := steps[i-1].row.id
	_, key := steps[i].path.Parent()
	if err := x.deleteEntry(ix, container, key, before); err != nil {
		return err
	}
	return x.putEntry(ix, container, key, after)
}

func (x Indexes) putEntry(ix definition, container uint64, key string, v indexed) error {
	if !v.ok || ix.Order == tree.ByPriority && v.value.IsEmpty() {
		return nil
	}
	return x.tx.put(kv.Index, entryKey(ix.id, container, v.value, key), nil)
}

func (x Indexes) deleteEntry(ix definition, container uint64, key string, v indexed) error {
	if !v.ok {
		return nil
	}
	return x.tx.delete(kv.Index, entryKey(ix.id, container, v.value, key))
}

// indexOf returns the index that an entry's key belongs to.
func indexOf(key []byte) uint32 { return binary.BigEndian.Uint32(key) }

// indexPrefix is what all entries of a container in an index begin with.
func indexPrefix(index uint32, container uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, index), container)
}

// The order of the parts is what makes a query one seek: all entries of one container in
// one index are neighbours, sorted by value and then by key, as clients sort them
// (protocol §7).
func entryKey(index uint32, container uint64, v tree.Node, key string) []byte {
	const prefix, number = 4 + 8, 1 + 8 + 8 + 1
	size := max(number, min(len(v.Text()), maxIndexed)+3)
	if v.IsList() {
		size = min(len(v.Text()), tree.MaxOrder*maxIndexed) + tree.MaxOrder*number
	}
	k := make([]byte, 0, prefix+size+len(key)+9)
	k = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(k, index), container)
	return appendKey(appendValue(k, v), key)
}

// Value returns what the child at p is ordered by in the given order, and
// whether there is a child. All objects have the same index value.
func (x Indexes) Value(p tree.Path, order string) (v tree.Node, exists bool, err error) {
	exists, err = x.tx.Has(p)
	if err != nil || !exists || order == tree.ByKey {
		return tree.Empty, exists, err
	}
	v, err = x.valueAt(p, order)
	return v, true, err
}

// rowValue returns what an index by the given order holds for a row.
func (x Indexes) rowValue(r row, order string) (tree.Node, error) {
	switch {
	case order == tree.ByPriority:
		return r.nodePriority(), nil
	case r.tag == tagPacked:
		return shallowIndexValue(tree.IndexValue(order, r.node)), nil
	case tree.IsListOrder(order):
		return x.listValue(order, r, tree.Root)
	}
	rel := tree.Root
	if order != tree.ByValue {
		var err error
		if rel, err = tree.ParsePath(order); err != nil {
			return tree.Empty, err
		}
	}
	return x.shallowValue(x.tx.follow(r, rel, false))
}
