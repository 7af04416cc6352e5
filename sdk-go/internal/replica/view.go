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
	Stale()       // what the view shows has changed and is Large: its State says what it is
	Failed(error) // the server does not let the client see the view; it is closed
}

// A View follows the children of a place inside of a query's window.
type View struct {
	Path  tree.Path
	Query tree.Query

	replica  *Replica
	id       string // of the query
	source   *Source
	watchers []Watcher
	state    State
	stale    bool // state is what the view showed when it was last read
}

// State returns what the view shows now.
func (v *View) State() State {
	if v.stale && v.source != nil {
		v.stale, v.state = false, v.replica.compute(v)
	}
	return v.state
}

// Current reports whether the view shows what the server has, but for pending
// writes: it did not only know it before the connection was lost.
func (v *View) Current() bool { return v.State().Complete && v.source != nil && v.source.current }

// postpone leaves it to the watchers to look when the view has changed, if it is
// large.
func (v *View) postpone() bool {
	if len(v.state.Node.Text()) < v.replica.large {
		return false
	}
	if !v.stale {
		v.stale = true
		for _, w := range v.watchers {
			w.Stale()
		}
	}
	return true
}

func (v *View) show(s State) {
	v.stale = false
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
