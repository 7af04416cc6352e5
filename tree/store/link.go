package store

import (
	"context"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// Link puts what a load has read in the place of the node at its path, as Put
// does with a node: ancestors are made or pruned, and what was there is left to
// the reclaimer. It costs the rows on the way down, and of a packed row that the
// path leads into, the row.
//
// The load has ended when the transaction is committed. If it is not, it can be
// linked in another one.
//
// This is the one commit that readers and listeners see of a load. Its cost depends on
// the depth of the path, not on the value, so it may run in the committer like a small
// write.
func (l *Load) Link(tx *Tx) (changed bool, err error) {
	if err := l.Claim(tx); err != nil {
		return false, err
	}
	return edits(tx).link(l.path, l.root)
}

// Claim takes a load off the record, since what it stored is about to be linked. After
// Nodes, PutNode for each of the nodes must follow. The load has ended when the
// transaction is committed. If it is not, it can be claimed in another one.
func (l *Load) Claim(tx *Tx) error {
	if !l.read {
		return ErrLoadEnded
	}
	if err := l.recorded(tx); err != nil {
		return err
	}
	if err := tx.delete(kv.Meta, l.key); err != nil {
		return err
	}
	return tx.Indexes().rebuildSince(l.indexes)
}

// link puts a row in the place of the node at p.
func (e editor) link(p tree.Path, root row) (changed bool, err error) {
	switch root.tag {
	case 0:
		return e.tx.Put(p, tree.Empty)
	case tagPacked:
		return e.tx.Put(p, root.node)
	}
	steps, rest, err := e.descend(p)
	if err != nil {
		return false, err
	}
	return true, e.tx.Indexes().reindexed(steps, 1, func() error {
		last := &steps[len(steps)-1]
		if err := e.discard(last.row); err != nil {
			return err
		}
		around := last.row.node
		if last.row.tag == tagBlob && !rest.IsRoot() {
			around = tree.Bool(true).WithPriority(last.row.priority) // any leaf gives way
		}
		if err := e.graft(last.key, last.path, around, rest, root); err != nil {
			return err
		}
		last.now, err = e.tx.row(last.key)
		return err
	})
}

// Small returns what a load has read if that is one row, or nothing. Then it can
// be Put as any other node, and the load aborted.
func (l *Load) Small() (n tree.Node, ok bool) {
	return l.root.node, l.read && (l.root.tag == tagPacked || !l.root.exists())
}

// graft stores n, with r in the place of the node at rest, in the row with the
// given key.
//
// It is for a path that leads into a packed row: the row is opened up, level by
// level, until there is a row that the value can stand in. The siblings on the
// way are at most what one packed row held, so this is bounded by PackLimit.
func (e editor) graft(key []byte, path tree.Path, n tree.Node, rest tree.Path, r row) error {
	name, below, ok := rest.Cut()
	if !ok {
		return e.tx.put(kv.Rows, key, r.encode())
	}
	c := row{tag: tagContainer, id: e.tx.newID(), priority: n.Priority()}
	if err := e.tx.put(kv.Rows, key, c.encode()); err != nil {
		return err
	}
	if err := e.graft(rowKey(c.id, name), path.Child(name), n.Child(name), below, r); err != nil {
		return err
	}
	count := int64(1)
	for sibling, child := range n.Children() {
		if sibling == name {
			continue
		}
		count++
		if err := e.write(rowKey(c.id, sibling), path.Child(sibling), child); err != nil {
			return err
		}
		if err := e.indexGrafted(c.id, path.Child(sibling)); err != nil {
			return err
		}
	}
	countsOf(e.tx).set(c.id, count)
	return e.indexGrafted(c.id, path.Child(name))
}

// indexGrafted adds the index entries of a child of a container that was just
// made.
func (e editor) indexGrafted(container uint64, p tree.Path) error {
	parent, key := p.Parent()
	indexes, err := e.tx.Indexes().at(parent)
	if err != nil {
		return err
	}
	for _, ix := range indexes {
		v, err := e.tx.Indexes().indexedValue(ix, p)
		if err != nil {
			return err
		}
		if err := e.tx.Indexes().putEntry(ix, container, key, v); err != nil {
			return err
		}
	}
	return nil
}

// rebuildSince has indexes built again that were declared after those that a
// load filled.
//
// The rows of the load have entries for the indexes that were declared when it
// began. An index that was declared later and finished before the link has none
// of them, and would hide these children from queries: so it is built once
// more, and queries do without it until then.
func (x Indexes) rebuildSince(old *catalogue) error {
	now, err := x.catalogue()
	if err != nil || now.version == old.version {
		return err
	}
	all, found := slices.Clone(now.all), false
	for i, d := range all {
		if old.has(d.id) {
			continue
		}
		if err := x.setBuiltTo(d.id, tree.Root); err != nil { // from the start
			return err
		}
		found = found || d.ready
		all[i].ready = false
	}
	if !found {
		return nil
	}
	return x.putCatalogue(all)
}

// A PathNode is a node and where it goes.
type PathNode struct {
	Path tree.Path
	Node tree.Node
}

// Nodes stores nodes that are in memory, instead of Read: the rows of those that are
// larger than one row. [Load.Claim] and [Load.PutNode] make them visible.
func (l *Load) Nodes(ctx context.Context, nodes []PathNode) error {
	for _, n := range nodes {
		err := ctx.Err()
		var root row
		if err == nil {
			root, err = rowBuilder{l}.node(n.Path, "", n.Node)
		}
		if err != nil {
			_ = l.settle() // the batch on its way; the first error is the cause
			return err
		}
		l.roots = append(l.roots, root)
	}
	if err := l.flush(0); err != nil {
		return err
	}
	l.read = true
	return nil
}

// PutNode puts node i of Nodes at its path p, as Put does.
func (l *Load) PutNode(tx *Tx, i int, p tree.Path) (changed bool, err error) {
	return edits(tx).link(p, l.roots[i])
}
