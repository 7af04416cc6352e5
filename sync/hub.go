package sync

import (
	"iter"
	"slices"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/tree"
)

// A hub finds the groups that can see a change. It is a trie of paths; a
// database's mu guards it.
type hub struct {
	root      hubNode
	listeners atomic.Int64 // can be read without mu
}

type hubNode struct {
	kids   map[string]*hubNode
	groups []*group // at this path, one for each query
}

// A group is all listeners of one view: the same path and query. They get the
// same events, which are encoded once.
type group struct {
	path      tree.Path
	query     tree.Query
	id        string // of the query
	listeners []*Listener

	// window is what a query with a limit shows, in query order. It is kept from
	// the first listener that was sent the view (live) and agrees with the last
	// commit.
	live   bool
	window []tree.Entry
}

// add puts a listener into its group, making the group if it is the first.
func (h *hub) add(l *Listener, p tree.Path, q tree.Query) {
	n := &h.root
	for key := range p.Keys() {
		next := n.kids[key]
		if next == nil {
			next = new(hubNode)
			if n.kids == nil {
				n.kids = make(map[string]*hubNode)
			}
			n.kids[key] = next
		}
		n = next
	}
	id := q.ID()
	if q.IsAll() {
		id = "" // the order of everything does not matter
	}
	i := slices.IndexFunc(n.groups, func(g *group) bool { return g.id == id })
	if i < 0 {
		n.groups = append(n.groups, &group{path: p, query: q, id: id})
		i = len(n.groups) - 1
	}
	g := n.groups[i]
	l.group, l.slot = g, len(g.listeners)
	g.listeners = append(g.listeners, l)
	h.listeners.Add(1)
}

// remove takes a listener out of its group, and the group out of the trie if
// it was the last.
func (h *hub) remove(l *Listener) {
	g := l.group
	last := len(g.listeners) - 1
	g.listeners[l.slot] = g.listeners[last]
	g.listeners[l.slot].slot = l.slot
	g.listeners[last] = nil
	g.listeners = g.listeners[:last]
	h.listeners.Add(-1)
	if last == 0 {
		h.root.drop(g, g.path)
	}
}

// drop removes an empty group at rel below n. It reports whether n is left
// without use.
func (n *hubNode) drop(g *group, rel tree.Path) (unused bool) {
	if key, rest, ok := rel.Cut(); ok {
		if n.kids[key].drop(g, rest) {
			delete(n.kids, key)
		}
	} else {
		n.groups = slices.DeleteFunc(n.groups, func(have *group) bool { return have == g })
	}
	return len(n.kids) == 0 && len(n.groups) == 0
}

// above yields the groups at p and at its ancestors: a change at p is inside of
// what they show.
func (h *hub) above(p tree.Path) iter.Seq[*group] {
	return func(yield func(*group) bool) {
		n := &h.root
		for rest := p; n != nil; {
			for _, g := range n.groups {
				if !yield(g) {
					return
				}
			}
			key, below, ok := rest.Cut()
			if !ok {
				return
			}
			n, rest = n.kids[key], below
		}
	}
}

// below yields the groups at paths below p: a change at p replaces what they
// show.
func (h *hub) below(p tree.Path) iter.Seq[*group] {
	return func(yield func(*group) bool) {
		n := &h.root
		for key := range p.Keys() {
			if n = n.kids[key]; n == nil {
				return
			}
		}
		for _, kid := range n.kids {
			if !kid.each(yield) {
				return
			}
		}
	}
}

func (n *hubNode) each(yield func(*group) bool) bool {
	for _, g := range n.groups {
		if !yield(g) {
			return false
		}
	}
	for _, kid := range n.kids {
		if !kid.each(yield) {
			return false
		}
	}
	return true
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
