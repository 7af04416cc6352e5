package audience

import (
	"slices"
	"sort"

	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/tree"
)

// A savedWindow is a window as it was before the batch, in case the batch does
// not commit. To keep the old slice is enough, as windows are not changed in
// place.
type savedWindow struct {
	group  *group
	window []tree.Entry
}

// setWindow replaces a group's window. Windows are never changed in place. The error is errLag if it
// is more than its listeners may have: those that may not are refused when they are sent their view.
func (b *Batch) setWindow(g *group, window []tree.Entry) error {
	b.saved = append(b.saved, savedWindow{g, g.window})
	over := g.show(window)
	g.reindex()
	if over {
		return errLag
	}
	return nil
}

// kept returns an entry for a window, which keeps no more text in memory than the entry has.
func kept(e tree.Entry) tree.Entry {
	if len(e.Value.Text()) < smallPart {
		e.Value = e.Value.Clone()
	}
	return e
}

// refill reads a window again, if that takes few rows.
func (p *Change) refill(g *group) error {
	if err := p.affords(g); err != nil {
		return err
	}
	entries, err := p.Tx.Query(g.path, g.query)
	if err != nil {
		return err
	}
	return p.setWindow(g, entries)
}

// A viewChild is a child that a change touches, or that comes into a limited
// window or leaves it because another one does.
type viewChild struct {
	key    string
	writes []int      // those of the update that are inside of it
	was    bool       // it was in the view before the change
	is     bool       // it is now
	entry  tree.Entry // as it is now

	before  tree.Entry // in a limited view, if the view has looked: as it was
	existed bool
}

// child returns the touched child with the given key, or nil.
func (v *view) child(key string) *viewChild {
	if len(v.children) <= 4 {
		for i := range v.children {
			if v.children[i].key == key {
				return &v.children[i]
			}
		}
		return nil
	}
	i, ok := slices.BinarySearchFunc(v.children, key, func(c viewChild, key string) int {
		return tree.CompareKeys(c.key, key)
	})
	if !ok {
		return nil
	}
	return &v.children[i]
}

// windowEvent is the event of changes below a filtered view. What leaves the
// window is sent as null, what enters it whole, and what stays as the change
// alone; all in one merge, so that the client never sees a window that is too
// short or too long (protocol §5.4).
func (p *Change) windowEvent(v *view) (*outbox.Event, error) {
	g := v.group
	for i := range v.children {
		c := &v.children[i]
		e, exists, err := p.entry(g.path, g.query.Order(), c.key)
		if err != nil {
			return nil, err
		}
		c.entry = e
		if c.is, err = p.selects(g, e, exists); err != nil {
			return nil, err
		}
	}
	if g.query.Limit == 0 {
		return p.compose(v, v.children)
	}
	if v.stays() {
		return p.compose(v, v.children)
	}
	old := g.window
	if err := p.moveWindow(v); err != nil {
		return nil, err
	}
	return p.compose(v, v.differences(old, g.window))
}

// stays reports whether a limited window stays as it is, and if so, tells which of
// the touched children are in it. It takes no longer for a long window than for a
// short one, but may not see that one stays if the view has not looked.
func (v *view) stays() bool {
	g := v.group
	for _, c := range v.children {
		switch {
		case c.is && g.shows(c.entry):
		case !v.looked, c.existed && g.shows(c.before), c.is && !g.isBeyond(c.entry):
			return false
		}
	}
	for i := range v.children {
		c := &v.children[i]
		c.is = c.is && g.shows(c.entry)
		c.was = c.is
	}
	return true
}

// shows reports whether an entry is in the window, at the place that it has in the
// order.
func (g *group) shows(e tree.Entry) bool {
	i, found := slices.BinarySearchFunc(g.window, e, g.query.Compare)
	return found && g.window[i].Key == e.Key
}

// isBeyond reports whether an entry that is not in the window would be pushed out
// of it by those that are.
func (g *group) isBeyond(e tree.Entry) bool {
	n := len(g.window)
	if n < g.query.Limit {
		return false
	}
	if g.query.FromLast {
		return g.query.Compare(e, g.window[0]) < 0
	}
	return g.query.Compare(e, g.window[n-1]) > 0
}

// moveWindow brings a limited window up to date. Children that come in or move
// within push others out; the store is asked only if one left a full window or
// moved to its far end, because then others, which the window does not know,
// may belong in.
//
// Most writes to a chat add a child at the near end: they push one out at the
// other end and read nothing. To read the window again for each write would
// cost as many rows as the window is long.
func (p *Change) moveWindow(v *view) error {
	g, q := v.group, v.group.query
	var in []tree.Entry
	for _, c := range v.children {
		if c.is {
			in = append(in, kept(c.entry))
		}
	}
	tree.SortEntries(in, q.Compare)
	next := make([]tree.Entry, 0, len(g.window)+len(in))
	removed := 0
	for _, e := range g.window {
		if v.child(e.Key) != nil {
			removed++
			continue
		}
		for len(in) > 0 && q.Compare(in[0], e) < 0 {
			next, in = append(next, in[0]), in[1:]
		}
		next = append(next, e)
	}
	next = append(next, in...)
	if full := len(g.window) >= q.Limit; full && removed > 0 && reachesBeyond(g, next) {
		return p.refill(g)
	}
	if len(next) > q.Limit {
		next = slices.Clone(q.Cut(next))
	}
	return p.setWindow(g, next)
}

// reachesBeyond reports whether a window that was full may now lack children
// that lie beyond its old far end: it is short, or holds one from there.
func reachesBeyond(g *group, next []tree.Entry) bool {
	q := g.query
	if len(next) < q.Limit {
		return true
	}
	cut := q.Cut(next)
	if q.FromLast {
		return q.Compare(cut[0], g.window[0]) < 0
	}
	return q.Compare(cut[len(cut)-1], g.window[len(g.window)-1]) > 0
}

// differences returns the touched children and those that only one of two
// windows holds, in key order. It tells which window holds which.
func (v *view) differences(before, after []tree.Entry) []viewChild {
	for i := range v.children {
		v.children[i].is = false // so far it said whether it is in the range
	}
	var others []viewChild
	mark := func(e tree.Entry, was, is bool) {
		switch c := v.child(e.Key); {
		case c != nil:
			c.was, c.is = c.was || was, c.is || is
		case was != is:
			others = append(others, viewChild{key: e.Key, was: was, is: is})
		}
	}
	q := v.group.query
	for len(before) > 0 || len(after) > 0 {
		order := 0
		switch {
		case len(before) == 0:
			order = 1
		case len(after) == 0:
			order = -1
		default:
			order = q.Compare(before[0], after[0])
		}
		switch {
		case order < 0:
			mark(before[0], true, false)
			before = before[1:]
		case order > 0:
			mark(after[0], false, true)
			after = after[1:]
		default:
			mark(after[0], true, true)
			before, after = before[1:], after[1:]
		}
	}
	if len(others) == 0 {
		return v.children
	}
	all := slices.Concat(v.children, others)
	sort.Slice(all, func(i, j int) bool { return tree.CompareKeys(all[i].key, all[j].key) < 0 })
	return all
}

// compose makes the event from what became of the children, which are in key
// order.
func (p *Change) compose(v *view, children []viewChild) (*outbox.Event, error) {
	g := v.group
	e := &outbox.Event{Path: g.path, Merge: true}
	stays, enters := 0, 0
	for _, c := range children {
		if c.is {
			if err := p.boundChild(v, c); err != nil {
				return nil, err
			}
		}
		switch {
		case c.was && c.is:
			stays++
			p.addChanges(e, v, c)
		case c.was:
			e.Add(tree.Target{Path: tree.Root.Child(c.key)}, tree.Empty)
		case c.is:
			n, err := p.entering(g.path.Child(c.key))
			if err != nil {
				return nil, err
			}
			e.Add(tree.Target{Path: tree.Root.Child(c.key)}, n)
			enters++
		}
	}
	if v.own || enters > 0 { // a view that was empty had no priority either
		priority, err := p.Tx.Priority(g.path)
		if err != nil {
			return nil, err
		}
		if v.own || !priority.IsEmpty() {
			e.Add(tree.Target{Priority: true}, priority)
		}
	}
	switch {
	case len(e.Parts) == 0:
		return nil, nil
	case stays == len(children) && !v.own:
		return p.parts(v), nil // a change that moves nothing looks like any other
	}
	return e, nil
}

// addChanges adds the writes inside one child to an event.
func (p *Change) addChanges(e *outbox.Event, v *view, c viewChild) {
	for _, i := range c.writes {
		w := p.Writes[i]
		e.Add(tree.Target{Path: v.group.path.Rel(w.Path), Priority: w.Priority}, w.Node)
	}
}
