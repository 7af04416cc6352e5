package derive

import "github.com/dogwooddb/dogwood/tree"

// A node of the trie stands for a prefix of sources and targets. Nodes exist only on the
// way to one, so a walk that ends between them meets no definition. A nil node has none of its own
// or below it. The trie never changes, so writes read it without a lock. By the definition of the
// example of the package, it is
//
//	groups / any / members / any  the source
//	users / any / groups / any    the target
//
// and a walk for "/groups/g1" ends at the first any, whose sourcesBelow has the definition. These
// lists are at each node, so that a write above sources need not walk the trie below it. They
// have 256 definitions at most, of up to 32 keys each.
type node struct {
	keys    map[string]*node
	any     *node // captures and expressions
	sources []*Definition
	targets []*Definition // that are exclusive

	// Definitions with a source or target below the node.
	sourcesBelow, targetsBelow []*Definition
}

func newTrie(definitions []*Definition) *node {
	root := new(node)
	for _, d := range definitions {
		if d.Kind == Index { // a write does no more than any index has it do, which the store does
			continue
		}
		n := root.add(d.source, func(n *node) { n.sourcesBelow = append(n.sourcesBelow, d) })
		n.sources = append(n.sources, d)
		if d.exclusive() {
			n := root.add(d.target, func(n *node) { n.targetsBelow = append(n.targetsBelow, d) })
			n.targets = append(n.targets, d)
		}
	}
	return root
}

// add returns the node of a pattern and calls above for those on the way.
func (n *node) add(p pattern, above func(*node)) *node {
	for _, s := range p {
		above(n)
		next := n.any
		if s.key != "" {
			next = n.keys[s.key]
		}
		if next == nil {
			next = new(node)
			if n.keys == nil {
				n.keys = make(map[string]*node)
			}
			if s.key != "" {
				n.keys[s.key] = next
			} else {
				n.any = next
			}
		}
		n = next
	}
	return n
}

// meets reports whether a write at p is at, above or below a source or target. Every write
// asks that, so it does not allocate.
func (n *node) meets(p tree.Path) bool {
	for n != nil {
		if n.sources != nil || n.targets != nil {
			return true
		}
		key, rest, ok := p.Cut()
		if !ok {
			return n.sourcesBelow != nil || n.targetsBelow != nil
		}
		next := n.keys[key]
		if next != nil && n.any != nil && next.meets(rest) {
			return true
		}
		if n.any != nil {
			next = n.any
		}
		n, p = next, rest
	}
	return false
}

// Meets reports whether a write at p may touch a definition or say something about its
// target.
func (d *Document) Meets(p tree.Path) bool { return d.trie.meets(p) }
