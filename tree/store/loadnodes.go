package store

import (
	"context"

	"github.com/dogwooddb/dogwood/tree"
)

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
			root, err = l.node(place{path: n.Path}, n.Node)
		}
		if err != nil {
			_ = l.settle() // the slice on its way; the first error is the cause
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
