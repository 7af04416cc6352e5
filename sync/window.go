package sync

import (
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// A savedWindow is a window as it was before the batch, in case the batch does
// not commit.
type savedWindow struct {
	group  *group
	window []tree.Entry
}

func (b *batch) restoreWindows() {
	for _, s := range slices.Backward(b.saved) {
		s.group.window = s.window
	}
}

// setWindow replaces a group's window. Windows are never changed in place.
func (b *batch) setWindow(g *group, window []tree.Entry) {
	b.saved = append(b.saved, savedWindow{g, g.window})
	g.window = window
}

func (p *publisher) refill(g *group) error {
	entries, err := p.tx.Query(g.path, g.query)
	if err != nil {
		return err
	}
	p.setWindow(g, entries)
	return nil
}

// windowEvent is the event of changes below a filtered view. What leaves the
// window is sent as null, what enters it whole, and what stays as the change
// alone; all in one merge, so that the client never sees a window that is too
// short or too long (wire protocol §5.4).
func (p *publisher) windowEvent(v *view) (*event, error) {
	g := v.group
	changed, own, err := p.changedEntries(v)
	if err != nil {
		return nil, err
	}
	var was, is func(key string) bool
	if g.query.Limit == 0 {
		was = func(key string) bool { return v.was[key] }
		is = func(key string) bool { e, ok := changed[key]; return ok && g.query.InRange(e) }
		return p.compose(v, own, was, is, mapKeys(v.was))
	}
	old := g.window
	if err := p.moveWindow(g, changed, v); err != nil {
		return nil, err
	}
	was, is = memberOf(old), memberOf(g.window)
	return p.compose(v, own, was, is, differing(old, g.window, p.keys(v)))
}

// changedEntries returns the entries of the changed children as they are now;
// absent ones are left out. own reports that the view's own priority changed.
func (p *publisher) changedEntries(v *view) (changed map[string]tree.Entry, own bool, err error) {
	changed = make(map[string]tree.Entry)
	for _, i := range v.inside {
		key, _, ok := v.group.path.Rel(p.writes[i].Path).Cut()
		if !ok {
			own = true
			continue
		}
		e, exists, err := p.entry(v.group, key)
		if err != nil {
			return nil, false, err
		}
		if exists {
			changed[key] = e
		}
	}
	return changed, own, nil
}

// keys returns the keys of the children that the change touches.
func (p *publisher) keys(v *view) []string {
	var keys []string
	for _, i := range v.inside {
		if key, _, ok := v.group.path.Rel(p.writes[i].Path).Cut(); ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// moveWindow brings a limited window up to date. Children that come in or move
// within push others out; the store is asked only if one left a full window or
// moved to its far end, because then others, which the window does not know,
// may belong in.
func (p *publisher) moveWindow(g *group, changed map[string]tree.Entry, v *view) error {
	q := g.query
	touched := p.keys(v)
	next := make([]tree.Entry, 0, len(g.window)+len(touched))
	removed := 0
	for _, e := range g.window {
		if slices.Contains(touched, e.Key) {
			removed++
		} else {
			next = append(next, e)
		}
	}
	for _, key := range touched {
		e, ok := changed[key]
		if !ok || !q.InRange(e) {
			continue
		}
		at, _ := slices.BinarySearchFunc(next, e, q.Compare)
		next = slices.Insert(next, at, e)
	}
	full := len(g.window) >= q.Limit
	if full && removed > 0 && p.reachesBeyond(g, next) {
		return p.refill(g)
	}
	p.setWindow(g, slices.Clone(q.Cut(next)))
	return nil
}

// reachesBeyond reports whether a window that was full may now lack children
// that lie beyond its old far end: it is short, or holds one from there.
func (p *publisher) reachesBeyond(g *group, next []tree.Entry) bool {
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

func memberOf(window []tree.Entry) func(string) bool {
	keys := make(map[string]bool, len(window))
	for _, e := range window {
		keys[e.Key] = true
	}
	return func(key string) bool { return keys[key] }
}

// differing returns the keys that are in only one of two windows, and those
// given.
func differing(a, b []tree.Entry, keys []string) []string {
	inA, inB := memberOf(a), memberOf(b)
	for _, e := range a {
		if !inB(e.Key) && !slices.Contains(keys, e.Key) {
			keys = append(keys, e.Key)
		}
	}
	for _, e := range b {
		if !inA(e.Key) && !slices.Contains(keys, e.Key) {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

func mapKeys(m map[string]bool) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}

// compose makes the event from what the children were and are. keys are those
// that may differ.
func (p *publisher) compose(v *view, own bool, was, is func(string) bool, keys []string) (*event, error) {
	g := v.group
	slices.SortFunc(keys, tree.CompareKeys)
	e := &event{path: g.path, merge: true}
	stays, enters := 0, 0
	for _, key := range keys {
		switch {
		case was(key) && is(key):
			stays++
			e.parts = append(e.parts, p.changesOf(v, key)...)
		case was(key):
			e.parts = append(e.parts, part{tree.Target{Path: tree.Root.Child(key)}, tree.Empty})
		case is(key):
			n, err := p.tx.Get(g.path.Child(key))
			if err != nil {
				return nil, err
			}
			e.parts = append(e.parts, part{tree.Target{Path: tree.Root.Child(key)}, n})
			enters++
		}
	}
	if own || enters > 0 { // a view that was empty had no priority either
		priority, err := p.tx.Priority(g.path)
		if err != nil {
			return nil, err
		}
		if own || !priority.IsEmpty() {
			e.parts = append(e.parts, part{tree.Target{Priority: true}, priority})
		}
	}
	switch {
	case len(e.parts) == 0:
		return nil, nil
	case stays == len(keys) && !own:
		return p.parts(v), nil // a change that moves nothing looks like any other
	}
	return e, nil
}

// changesOf returns the writes inside one child as parts.
func (p *publisher) changesOf(v *view, key string) []part {
	var parts []part
	for _, i := range v.inside {
		w := p.writes[i]
		rel := v.group.path.Rel(w.Path)
		if k, _, _ := rel.Cut(); k == key {
			parts = append(parts, part{tree.Target{Path: rel, Priority: w.Priority}, w.Node})
		}
	}
	return parts
}
