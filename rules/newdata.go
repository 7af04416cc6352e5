package rules

import "github.com/dogwooddb/dogwood/tree"

// A newData is the tree as it will be after an operation: the old data with all
// its writes. It reads no more of the old data than a question needs.
type newData struct {
	data   tree.Reader
	writes []tree.ResolvedWrite
	known  map[tree.Path]bool // answers of exists; many writes ask about one ancestor
}

// written returns the new node at the target of one of the writes. A write of a
// priority leaves a node's value, so it carries all of it.
func (d *newData) written(w tree.ResolvedWrite) (tree.Node, error) {
	if !w.Priority {
		return w.Node, nil
	}
	n, err := d.data.Get(w.Path)
	if err != nil {
		return tree.Empty, err
	}
	for _, o := range d.writes {
		if !o.Priority && w.Path.Contains(o.Path) {
			n = n.With(w.Path.Rel(o.Path), o.Node)
		}
	}
	return n, nil
}

// exists reports whether there will be a node at p.
func (d *newData) exists(p tree.Path) (bool, error) {
	if e, ok := d.known[p]; ok {
		return e, nil
	}
	e, err := d.lookUp(p)
	if err == nil {
		if d.known == nil {
			d.known = make(map[tree.Path]bool)
		}
		d.known[p] = e
	}
	return e, err
}

func (d *newData) lookUp(p tree.Path) (bool, error) {
	var removed map[tree.Path]bool
	var last tree.Path // one of removed
	for _, w := range d.writes {
		switch {
		case w.Priority: // neither makes a node nor removes one
		case w.Path.Contains(p):
			return !w.Node.Get(w.Path.Rel(p)).IsEmpty(), nil
		case !p.Contains(w.Path):
		case !w.Node.IsEmpty():
			return true, nil
		default:
			if removed == nil {
				removed = make(map[tree.Path]bool)
			}
			removed[w.Path], last = true, w.Path
		}
	}
	if removed == nil {
		return d.data.Has(p)
	}
	return d.remains(p, last, removed)
}

// remains reports whether anything is left at p once the given paths below it
// are removed. It starts beside one of them, where most often something is, and
// not at p, which may be the whole database.
func (d *newData) remains(p, below tree.Path, removed map[tree.Path]bool) (bool, error) {
	for below != p {
		below, _ = below.Parent()
		n, err := d.data.Get(below)
		if err != nil {
			return false, err
		}
		if survives(n, below, removed) {
			return true, nil
		}
	}
	return false, nil
}

// survives reports whether anything is left of the node n at p.
func survives(n tree.Node, p tree.Path, removed map[tree.Path]bool) bool {
	if n.IsEmpty() || removed[p] {
		return false
	}
	if n.IsLeaf() {
		return true
	}
	for key, c := range n.Children() {
		if survives(c, p.Child(key), removed) {
			return true
		}
	}
	return false
}
