package rulestest

import (
	"iter"

	"github.com/dogwooddb/dogwood/tree"
)

// A World is one state of a tree in memory. It is a tree.Reader, and rules.Children.
//
// It has the methods of a store's transaction that rules need, over a Node. So rules are
// asked in tests by the code that asks them in a server, and no test needs a store.
type World struct {
	Root     tree.Node
	declared *declared // nil: there is no data document
}

// Get returns the node at p.
func (w World) Get(p tree.Path) (tree.Node, error) { return w.Root.Get(p), nil }

// Has reports whether there is a node at p.
func (w World) Has(p tree.Path) (bool, error) { return !w.Root.Get(p).IsEmpty(), nil }

// Peek returns the leaf at p, or that the node there has children.
func (w World) Peek(p tree.Path) (leaf tree.Node, isObject bool, err error) {
	n := w.Root.Get(p)
	if n.IsObject() {
		return tree.Empty, true, nil
	}
	return n, false, nil
}

// Priority returns the priority of the node at p.
func (w World) Priority(p tree.Path) (tree.Node, error) { return w.Root.Get(p).Priority(), nil }

// Keys yields the keys of the children of the node at p.
func (w World) Keys(p tree.Path) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for key := range w.Root.Get(p).Children() {
			if !yield(key, nil) {
				return
			}
		}
	}
}

// Count returns the number of children of the node at p that q shows.
func (w World) Count(p tree.Path, q tree.Query) (int, error) {
	list, err := w.Query(p, q)
	return len(list), err
}

// Query returns the children of the node at p that q shows.
func (w World) Query(p tree.Path, q tree.Query) ([]tree.Entry, error) {
	return q.Entries(w.Root.Get(p)), nil
}

// Resolve replaces the server values of an update.
func (w World) Resolve(u tree.Update, now int64) ([]tree.ResolvedWrite, error) {
	list := make([]tree.ResolvedWrite, 0, len(u))
	for _, write := range u {
		existing := func(p tree.Path) (tree.Node, error) { return w.Root.Get(write.Path.Join(p)), nil }
		n, err := write.Value.Resolve(now, existing)
		if err != nil {
			return nil, err
		}
		list = append(list, tree.ResolvedWrite{Target: write.Target, Node: n})
	}
	return list, nil
}

// After returns the world with the writes done, and what follows from them. Those that
// declared data refuse change nothing.
func (w World) After(writes []tree.ResolvedWrite) World {
	after, err := w.after(writes)
	if err != nil {
		return w
	}
	return after
}

// put returns the world with the writes alone done.
func (w World) put(writes []tree.ResolvedWrite) World {
	for _, write := range writes {
		w.Root = w.Root.WithTarget(write.Target, write.Node)
	}
	return w
}
