package replica

import (
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// A Network takes what the replica asks of the server.
type Network interface {
	// Listen asks the server to follow a source. The answer is Listened.
	Listen(*Source)
	// Unlisten asks it to follow the source no longer. There is no answer.
	Unlisten(*Source)
}

// A Replica is a client's copy of parts of a database.
type Replica struct {
	net     Network
	sources byPath[*Source]
	views   byPath[*View]
	writes  []*Write // in the order they were made
	tag     int64    // of the last window
	large   int      // bytes from which on a node is made when it is read
}

// Large is the size in bytes from which on a view is large: its watchers are only
// told that it has changed. A watcher has no use for each state of so large a
// view, and making them all would be most of the work.
const Large = 4 << 20

// New returns an empty Replica.
func New(net Network) *Replica { return &Replica{net: net, large: Large} }

// Open begins to follow a view for a watcher. Whatever is known already is what
// the view shows, and the watcher is told.
func (r *Replica) Open(p tree.Path, q tree.Query, w Watcher) *View {
	v := r.view(p, q)
	if v == nil {
		v = &View{Path: p, Query: q, id: q.ID(), replica: r}
		r.views.add(p, v)
		r.supply(v, nil)
		v.state = r.compute(v)
	}
	v.watchers = append(slices.Clip(v.watchers), w)
	if s := v.State(); s != (State{}) {
		w.Changed(s)
	}
	return v
}

func (r *Replica) view(p tree.Path, q tree.Query) *View {
	id := q.ID()
	for _, v := range r.views.at(p) {
		if v.id == id {
			return v
		}
	}
	return nil
}

// Close ends what Open began.
func (r *Replica) Close(v *View, w Watcher) {
	if v.without(w); len(v.watchers) == 0 && v.source != nil {
		r.drop(v)
	}
}

// drop forgets a view, and its source if that is not needed for others.
func (r *Replica) drop(v *View) {
	r.views.remove(v.Path, v)
	s := v.source
	v.source = nil
	s.views = slices.DeleteFunc(s.views, func(have *View) bool { return have == v })
	if !s.servesOwn() {
		r.split(s)
	}
	r.prune()
}

// NewTag returns a tag that no source has.
func (r *Replica) NewTag() int64 {
	r.tag++
	return r.tag
}

// Fail closes all views. Later messages of the server about their sources are ignored.
func (r *Replica) Fail(err error) {
	views := r.views.all()
	for _, s := range r.sources.all() {
		s.gone, s.views = true, nil
	}
	r.views, r.sources, r.writes = byPath[*View]{}, byPath[*Source]{}, nil
	for _, v := range views {
		v.source = nil
		v.fail(err)
	}
}

// Sources returns all sources, for a new connection. They are no longer
// current until the server has answered.
func (r *Replica) Sources() []*Source {
	list := r.sources.all()
	for _, s := range list {
		s.current = false
		if !s.complete {
			s.node, s.later, s.size = tree.Empty, nil, 0 // a server may leave out that there is nothing
		}
	}
	return list
}

// Source returns the source of a place and query, nil if there is none. A query
// is recognized by match.
func (r *Replica) Source(p tree.Path, match func(tree.Query) bool) *Source {
	for _, s := range r.sources.at(p) {
		if match(s.Query) {
			return s
		}
	}
	return nil
}

// Node returns what is known of the node at p, with the pending writes. ok is
// false if that is not all of it.
func (r *Replica) Node(p tree.Path) (n tree.Node, ok bool) {
	var from *Source
	for _, s := range r.sources.above(p) {
		if base, knows := s.knows(p); knows && (from == nil || s.isWhole()) {
			n, from = base, s
		}
	}
	changes, covers := r.changes(p, from)
	if from == nil && covers == 0 {
		return tree.Empty, false
	}
	return overlay(n, changes), true
}

// Current returns what a view of p and q would show, if a source that the server
// keeps up to date on this connection has all of it.
func (r *Replica) Current(p tree.Path, q tree.Query) (n tree.Node, ok bool) {
	v := r.view(p, q)
	if v == nil {
		v = &View{Path: p, Query: q}
		v.source = r.covering(v)
	}
	if v.source == nil || !v.source.current {
		return tree.Empty, false
	}
	s := r.compute(v)
	return s.Node, s.Complete
}
