package derive

import "github.com/dogwooddb/dogwood/tree"

// touchedAlone returns the definition that a write touches a node for, if that is all that it
// meets, and nothing follows from what follows: most writes that meet a definition are like that.
// nil: it does more. While definitions are built or paused, all writes take the long way, which asks
// Skip and Behind.
func touchedAlone(d *Document, c *Change) *Definition {
	if len(c.Writes) != 1 || c.Writes[0].Priority || c.Build != nil || c.Held || c.Skip != nil || c.Behind != nil {
		return nil
	}
	if one := d.trie.only(c.Writes[0].Path); one != nil && one.alone && !one.feeding {
		return one
	}
	return nil
}

// only returns the definition whose source is at p or above it, if a write at p meets no more than
// that. It gives up where a key and a capture both go on, so it may return nil for a write that
// the long way would find to meet one definition too.
func (n *node) only(p tree.Path) (d *Definition) {
	for n != nil {
		if n.targets != nil || len(n.sources) > 1 || n.sources != nil && d != nil {
			return nil
		}
		if n.sources != nil {
			d = n.sources[0]
		}
		key, rest, ok := p.Cut()
		next := n.keys[key]
		switch {
		case !ok && (n.sourcesBelow != nil || n.targetsBelow != nil), next != nil && n.any != nil:
			return nil
		case !ok:
			return d
		case next == nil:
			next = n.any
		}
		n, p = next, rest
	}
	return d
}

// deriveOne is derive and divide for a write that touches a node of one definition alone. It needs
// no list of what is touched, and nothing can be in the way of what follows: the write is not at,
// above or below the place. The result is that of the long way.
func deriveOne(r *run, d *Definition) {
	x, w := r.result, r.Writes[0]
	x.Writes = append(x.Writes, w)
	at := w.Path
	for range at.Len() - len(d.source) {
		at, _ = at.Parent()
	}
	if r.look(d, at) {
		return
	}
	is, moves := settled(r, d, at, touched{w.Node, at == w.Path})
	if r.failed(r.close()) || !moves || !r.change(d, is.place, is.value) {
		return
	}
	x.Derived = append(x.Derived, Derived{d, is.place, is.value})
	x.Writes = append(x.Writes, tree.ResolvedWrite{Target: tree.Target{Path: is.place}, Node: is.value})
	x.Follow = append(x.Follow, d.Name)
}
