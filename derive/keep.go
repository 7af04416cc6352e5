package derive

import (
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// deriveKeep removes the excess of the lists that were touched: those with a child that was written,
// or that were written as a whole. Of "/home/$user/*", the touched nodes are "/home/ann/k1" and
// "/home/ann".
func (r *run) deriveKeep(d *Definition, w *work) {
	var lists places[[]placed[touched]] // with their touched children
	for _, x := range w.touched.sorted() {
		list := x.path
		if list.Len() == len(d.source) {
			list, _ = list.Parent()
		}
		at, _ := lists.at(list)
		*at = append(*at, x)
	}
	for _, x := range lists.sorted() {
		if r.trim(d, w, x.path, x.v); r.err != nil {
			return
		}
	}
}

// trim removes the excess of one list. If the list was written as a whole, all of it is in the
// write. Otherwise it is in the store, however large, and only its end is read. The touched nodes
// are its children, behind the list itself if that is one.
func (r *run) trim(d *Definition, w *work, list tree.Path, touched []placed[touched]) {
	var excess []tree.Entry
	if i, ok := r.update.cover(list); ok {
		n := r.update.inside(i, list, touched[0].of(list))
		excess = d.excess(d.order().Entries(n), n.NumChildren()-d.N)
	} else {
		excess = r.excessOf(d, list, touched)
	}
	for _, x := range excess {
		if r.moved > movedAtOnce && r.comes(d, list) && r.Build.Most > 0 {
			r.result.Partly = true
			return
		}
		r.dismiss(d, w, list.Child(x.Key))
	}
}

// movedAtOnce is from how many bytes on building moves other children later.
const movedAtOnce = 1 << 20

// order returns the query that orders a list.
func (d *Definition) order() tree.Query { return tree.Query{OrderBy: d.OrderBy} }

// excess returns the n entries that are to go.
func (d *Definition) excess(entries []tree.Entry, n int) []tree.Entry {
	n = min(max(n, 0), len(entries))
	if d.DropLast {
		return entries[len(entries)-n:]
	}
	return entries[:n]
}

// excessOf returns the entries that are to go from a list with some children that were
// written. It reads the entries at one end of the stored list, as many as may have to go. Children
// that were written sort by what they are after the write, so they are left out of these and added
// as they will be. At most stored of the entries are left out, and so many more are read.
func (r *run) excessOf(d *Definition, list tree.Path, touched []placed[touched]) []tree.Entry {
	total, err := r.Before.Count(list, tree.Query{OrderBy: tree.ByKey})
	if r.failed(err) {
		return nil
	}
	stored := 0
	var entries []tree.Entry // of the touched children, as they will be
	for _, x := range touched {
		if x.path == list { // it is being built
			continue
		}
		if r.exists(x.path, x.v, false) {
			stored++
			total--
		}
		if r.exists(x.path, x.v, true) {
			total++
			entries = append(entries, r.entry(d, x.path))
		}
	}
	if total <= d.N {
		return nil
	}
	q := d.order()
	q.Limit, q.FromLast = total-d.N+stored, d.DropLast
	if r.comes(d, list) && r.Build.Most > 0 && q.Limit > r.Build.Most {
		q.Limit, r.result.Partly = r.Build.Most, true
	}
	before, err := r.Before.Query(list, q)
	if r.failed(err) {
		return nil
	}
	for _, e := range before {
		if _, found := slices.BinarySearchFunc(touched, list.Child(e.Key), comparePlaced); !found {
			entries = append(entries, e)
		}
	}
	tree.SortEntries(entries, q.Compare)
	return d.excess(entries, total-d.N)
}

// entry returns the entry of a child after the write.
func (r *run) entry(d *Definition, p tree.Path) tree.Entry {
	_, key := p.Parent()
	e := tree.Entry{Key: key}
	switch d.OrderBy {
	case tree.ByKey:
	case tree.ByValue:
		e.Value = ordered(r, p)
	default: // the rest of the child may be of any size
		by, err := tree.ParsePath(d.OrderBy)
		r.failed(err)
		e.Value = ordered(r, p.Join(by))
	}
	return e
}

// ordered returns what the node at p sorts by after the write. All objects are equal, so they are
// not read.
func ordered(r *run, p tree.Path) tree.Node {
	n, err := r.update.get(func(p tree.Path) (tree.Node, error) {
		leaf, isObject, err := r.Before.Peek(p)
		if isObject && r.states().Exists(p, true) {
			leaf = object
		}
		return leaf, err
	}, p)
	r.failed(err)
	return n.Value()
}

// object stands for each node that has children. Objects sort behind all leaves, and are ordered
// among each other by key, so any of them does.
var object = tree.Empty.With(tree.Root.Child("a"), tree.Bool(true))

// leaving returns the stored child at p that a list loses. All of them together may be as large
// as what a write may change, and no more is read: otherwise a small write that pushes a child of
// 300 MB out of a list would read it in the committer, only to be refused.
func (r *run) leaving(d *Definition, p tree.Path) (tree.Node, error) {
	n, ok, err := r.upTo(p, max(1, r.bounds.bytes-r.moved)) // 0 would be no bound
	if err == nil && !ok {
		err = r.tooLarge(d, p, "change more than %s bytes kept by", r.bounds.bytes)
	}
	r.moved += len(n.Text())
	return n, err
}

// dismiss removes a child of a list, or moves it.
func (r *run) dismiss(d *Definition, w *work, p tree.Path) {
	w.edits.put(p, derived{})
	if d.target == nil {
		return
	}
	n, err := r.update.get(func(p tree.Path) (tree.Node, error) { return r.leaving(d, p) }, p)
	if r.failed(err) {
		return
	}
	if to, ok, _ := r.fill(d.target, p, true); ok {
		w.edits.put(to, derived{node: n})
	}
}
