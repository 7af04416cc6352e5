// Package trace tells the watchers of a database what is done to it. Without watchers,
// an operation costs one load of a pointer: [Watchers.Begin] returns the zero time then, and
// its caller does not even describe the operation.
package trace

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/tree"
)

// Names of operations, as the profiles of Realtime Database have them.
const (
	OpConnect     = "concurrent-connect"    // a session began
	OpDisconnect  = "concurrent-disconnect" // and ended
	OpRead        = "realtime-read"         // a get of a session
	OpWrite       = "realtime-write"
	OpTransaction = "realtime-transaction" // a write with a condition
	OpUpdate      = "realtime-update"      // a write of several children
	OpListen      = "listener-listen"
	OpUnlisten    = "listener-unlisten"
	OpBroadcast   = "listener-broadcast" // of one event to all listeners of the same view
	OpRESTRead    = "rest-read"
	OpRESTWrite   = "rest-write"
	OpRESTUpdate  = "rest-update"
)

// An Operation is something that was done to a database.
type Operation struct {
	Name      string
	Path      tree.Path // empty for connects and disconnects
	At        time.Time // when it was done; set by Tell
	Took      time.Duration
	Waited    time.Duration // in the queue of the committer, before that
	Bytes     int           // read, written or sent; an estimate
	Denied    bool          // by the rules
	Failed    bool          // it was not carried out, for that or another reason
	Began     time.Time     // when the request came, before any wait; zero if unknown
	Listeners int           // that a broadcast went to
	Query     tree.Query    // of a read or listen
	Unindexed bool          // the rules declare no index for the query
}

// Watchers are told each operation.
//
// The list is replaced as a whole and never changed, so Tell reads it without a
// lock.
type Watchers struct {
	Now     func() time.Time // for Operation.At
	changes sync.Mutex       // one at a time
	all     atomic.Pointer[[]*func(Operation)]
}

// Watch has f called for each operation until stop is called. It is called by several
// goroutines at once, some of which hold up all others: it must not block, and not call the
// database. Calls that are under way may end after stop has returned.
func (w *Watchers) Watch(f func(Operation)) (stop func()) {
	w.change(func(all []*func(Operation)) []*func(Operation) { return append(all, &f) })
	return func() {
		w.change(func(all []*func(Operation)) []*func(Operation) {
			return slices.DeleteFunc(all, func(other *func(Operation)) bool { return other == &f })
		})
	}
}

func (w *Watchers) change(f func([]*func(Operation)) []*func(Operation)) {
	w.changes.Lock()
	defer w.changes.Unlock()
	var all []*func(Operation)
	if old := w.all.Load(); old != nil {
		all = slices.Clone(*old)
	}
	if all = f(all); len(all) == 0 {
		w.all.Store(nil)
		return
	}
	w.all.Store(&all)
}

// Len returns how many watch.
func (w *Watchers) Len() int {
	if all := w.all.Load(); all != nil {
		return len(*all)
	}
	return 0
}

// Begin returns the time if somebody watches, else the zero time.
func (w *Watchers) Begin() (began time.Time) {
	if w.all.Load() != nil {
		began = time.Now()
	}
	return began
}

// Tell tells an operation to the watchers.
func (w *Watchers) Tell(op Operation) {
	all := w.all.Load()
	if all == nil {
		return
	}
	op.At = w.Now()
	for _, tell := range *all {
		(*tell)(op)
	}
}
