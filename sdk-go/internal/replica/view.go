package replica

import (
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// A State is what a view shows.
type State struct {
	Node     tree.Node // inside of the query's window
	Complete bool      // Node is all of it; otherwise there may be more children
}

// A Watcher is told what a view shows. Its methods are called in the middle of
// changes: they must not block and not call the Replica.
type Watcher interface {
	Changed(State)
	Failed(error) // the server does not let the client see the view; it is closed
}

// A View follows the children of a place inside of a query's window.
type View struct {
	Path  tree.Path
	Query tree.Query

	id       string // of the query
	source   *Source
	watchers []Watcher
	state    State
}

// State returns what the view shows now.
func (v *View) State() State { return v.state }

// Current reports whether the view shows what the server has, but for pending
// writes: it did not only know it before the connection was lost.
func (v *View) Current() bool { return v.state.Complete && v.source != nil && v.source.current }

func (v *View) show(s State) {
	if s == v.state {
		return
	}
	v.state = s
	for _, w := range v.watchers {
		w.Changed(s)
	}
}

func (v *View) fail(err error) {
	watchers := v.watchers
	v.watchers = nil
	for _, w := range watchers {
		w.Failed(err)
	}
}

func (v *View) without(w Watcher) {
	v.watchers = slices.DeleteFunc(slices.Clone(v.watchers), func(have Watcher) bool { return have == w })
}
