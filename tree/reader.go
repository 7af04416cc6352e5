package tree

import "iter"

// A Reader is one consistent state of a tree. Rules, queries and SDKs read
// through it, so that they need not know how the tree is kept.
type Reader interface {
	// Get returns the node at p, Empty if there is none.
	Get(p Path) (Node, error)
	// Has reports whether there is a node at p, without reading it.
	Has(p Path) (bool, error)
	// Peek returns the node at p if it is a leaf, with its priority. Of an object
	// it only says that it is one, however large it is.
	Peek(p Path) (leaf Node, isObject bool, err error)
	// Priority returns the priority of the node at p, Empty if it has none.
	Priority(p Path) (Node, error)
	// Keys yields the keys of the children of the node at p in key order. It reads
	// no more of them than are asked for. An error ends it.
	Keys(p Path) iter.Seq2[string, error]
}
