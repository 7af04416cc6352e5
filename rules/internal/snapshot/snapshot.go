// Package snapshot is what expressions see of the database: the tree before an
// operation (Data), the tree after it (NewData), and the nodes in them that an
// expression reaches (Snapshot). Trees is both together with the Budget that
// reading them is charged to.
//
// Nothing is read until it is asked for, nothing is read twice, and NewData is
// never built: it is the writes of the operation over Data.
package snapshot

import "github.com/dogwooddb/dogwood/tree"

// A Snapshot is a node of one of the trees, as the variables data, newData and
// root and their methods child and parent reach it. It holds no data.
type Snapshot struct {
	Path tree.Path
	New  bool // in the tree after the operation
	None bool // reached by a path that no node can have: always empty
}

// Trees are the trees before and after one operation. They can be used again
// after Reset, which keeps small buffers and nothing of the operation.
type Trees struct {
	Old    Data
	New    NewData
	Budget Budget
}

// Reset prepares for an operation. writes are what a write does; a read has none
// and does not look at the tree after it.
func (t *Trees) Reset(data tree.Reader, writes []tree.ResolvedWrite, b Budget) {
	t.Budget = b
	t.Old.reset(data, &t.Budget)
	t.New.old = &t.Old
	if len(writes)+len(t.New.values)+len(t.New.priorities) > 0 {
		t.New.reset(&t.Old, writes)
	}
}

// Forget lets go of what was learnt, so that later expressions are charged for what they
// read as if they were the first.
func (t *Trees) Forget() {
	clear(t.Old.few)
	t.Old.few, t.Old.more, t.Old.long, t.New.long = t.Old.few[:0], nil, finding{}, finding{}
}

// Exists reports whether there is a node at s.
func (t *Trees) Exists(s Snapshot) bool {
	switch {
	case s.None:
		return false
	case s.New:
		return t.New.Exists(s.Path)
	}
	return t.Old.Exists(s.Path)
}

// Value returns ValueOf the node at s.
func (t *Trees) Value(s Snapshot) any {
	switch {
	case s.None:
		return nil
	case s.New:
		return t.New.Value(s.Path)
	}
	return t.Old.Value(s.Path)
}

// NumChildren returns the number of children of the node at s. If the budget does not allow for
// that, it is over.
func (t *Trees) NumChildren(s Snapshot) int {
	switch {
	case s.None:
		return 0
	case s.New:
		return t.New.NumChildren(s.Path)
	}
	return t.Old.NumChildren(s.Path)
}

// Priority returns ValueOf the priority of the node at s.
func (t *Trees) Priority(s Snapshot) any {
	switch {
	case s.None:
		return nil
	case s.New:
		return t.New.Priority(s.Path)
	}
	return t.Old.Priority(s.Path)
}
