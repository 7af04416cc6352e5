package tree

// A Reader is one consistent state of a tree. Rules, queries and SDKs read
// through it, so that they need not know how the tree is kept.
type Reader interface {
	// Get returns the node at p, Empty if there is none.
	Get(p Path) (Node, error)
	// Has reports whether there is a node at p, without reading it.
	Has(p Path) (bool, error)
}
