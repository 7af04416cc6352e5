package sync

import (
	"iter"
	"slices"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/tree"
)

// A hub finds the groups that can see a change: those at a change's path and
// above it, inside of whose views it is, and those below, whose views it
// replaces. A database's mu guards it.
type hub struct {
	trie[*group]
	listeners atomic.Int64 // can be read without mu
	windows   quotaWindows
}

// A group is all listeners of one view: the same path and query. They get the
// same events, which are encoded once.
type group struct {
	path      tree.Path
	query     tree.Query
	id        string // of the query
	weight    int    // of the query, when its first listener came
	listeners []*Listener

	// window is what a query with a limit shows, in query order. It is kept from
	// the first listener that was sent the view (live) and agrees with the last
	// commit.
	live   bool
	window []tree.Entry
}

// groupID tells the groups of a path apart.
func groupID(q tree.Query) string {
	if q.IsAll() {
		return "" // the order of everything does not matter
	}
	return q.ID()
}

// add puts a listener into its group, making the group if it is the first.
func (h *hub) add(l *Listener, p tree.Path, q tree.Query) {
	id := groupID(q)
	n := h.at(p)
	i := slices.IndexFunc(n.items, func(g *group) bool { return g.id == id })
	if i < 0 {
		n.items = append(n.items, &group{path: p, query: q, id: id, weight: l.weight})
		i = len(n.items) - 1
	}
	g := n.items[i]
	l.group, l.slot = g, len(g.listeners)
	g.listeners = append(g.listeners, l)
	h.listeners.Add(1)
	h.windows.add(l)
}

// remove takes a listener out of its group, and the group out of the trie if
// it was the last.
func (h *hub) remove(l *Listener) {
	g := l.group
	h.windows.remove(l)
	last := len(g.listeners) - 1
	g.listeners[l.slot] = g.listeners[last]
	g.listeners[l.slot].slot = l.slot
	g.listeners[last] = nil
	g.listeners = g.listeners[:last]
	h.listeners.Add(-1)
	if last == 0 {
		h.trie.remove(g.path, g)
	}
}

// groups yields every group.
func (h *hub) groups() iter.Seq[*group] {
	return func(yield func(*group) bool) { h.root.each(yield) }
}

// all returns every listener. It is a copy, so that listeners can be removed on
// the way through it.
func (h *hub) all() []*Listener {
	list := make([]*Listener, 0, h.listeners.Load())
	h.root.each(func(g *group) bool {
		list = append(list, g.listeners...)
		return true
	})
	return list
}
