package sync

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/sync/fault"
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
	OpBroadcast   = "listener-broadcast" // of one event to those who listen to the same view
	OpRESTRead    = "rest-read"
	OpRESTWrite   = "rest-write"
	OpRESTUpdate  = "rest-update"
)

// An Operation is something that was done to a database.
type Operation struct {
	Name      string
	Path      tree.Path // none of sessions
	At        time.Time // when it was done
	Took      time.Duration
	Waited    time.Duration // in the queue of the committer, before that
	Bytes     int           // read, written or sent; an estimate
	Denied    bool          // by the rules
	Listeners int           // that a broadcast went to
	Query     tree.Query    // of a read or listen
	Unindexed bool          // the rules declare no index for the query
}

// operations tells those who watch what is done. While nobody does, that costs one
// load of a pointer.
type operations struct {
	db       *Database
	changes  sync.Mutex // one at a time
	watchers atomic.Pointer[[]*watcher]
}

type watcher struct{ tell func(Operation) }

// WatchOperations has f called for each operation until stop is called. It is
// called by several goroutines at once, some of which hold up all others: it must
// not block, and not call the Database. Calls that are under way may end after
// stop has returned.
func (o *operations) WatchOperations(f func(Operation)) (stop func()) {
	w := &watcher{f}
	o.db.operations.change(func(all []*watcher) []*watcher { return append(all, w) })
	return func() {
		o.db.operations.change(func(all []*watcher) []*watcher {
			return slices.DeleteFunc(all, func(other *watcher) bool { return other == w })
		})
	}
}

func (o *operations) change(f func([]*watcher) []*watcher) {
	o.changes.Lock()
	defer o.changes.Unlock()
	var all []*watcher
	if old := o.watchers.Load(); old != nil {
		all = slices.Clone(*old)
	}
	if all = f(all); len(all) == 0 {
		o.watchers.Store(nil)
		return
	}
	o.watchers.Store(&all)
}

func (o *operations) watched() bool { return o.watchers.Load() != nil }

// start returns the time if somebody watches, else the zero time.
func (o *operations) start() (began time.Time) {
	if o.watched() {
		began = time.Now()
	}
	return began
}

// report tells an operation to those who watch.
func (o *operations) report(op Operation) {
	all := o.db.operations.watchers.Load()
	if all == nil {
		return
	}
	op.At = o.db.options.Now()
	for _, w := range *all {
		w.tell(op)
	}
}

// reportRead tells of a read that began at a time that start returned.
func (o *operations) reportRead(r Read, began time.Time, bytes int, err error) {
	if began.IsZero() {
		return
	}
	op := Operation{Name: OpRESTRead, Path: r.Path, Took: time.Since(began), Bytes: bytes, Denied: errors.Is(err, fault.ErrDenied), Query: r.Query}
	if r.realtime {
		op.Name = OpRead
	}
	op.Unindexed = !declared(o.db.Rules(), r.Path, r.Query)
	o.report(op)
}

// first makes the first messages of a listener by f, and tells of the listen.
func (l *Listener) first(f func() [][]byte) [][]byte {
	began := l.db.operations.start()
	msgs := f()
	if !began.IsZero() {
		bytes := 0
		for _, msg := range msgs {
			bytes += len(msg)
		}
		l.db.reportListen(l, time.Since(began), bytes, nil)
	}
	return msgs
}

func (o *operations) reportListen(l *Listener, took time.Duration, bytes int, err error) {
	if !o.db.operations.watched() {
		return
	}
	r := l.read
	o.report(Operation{
		Name:      OpListen,
		Path:      r.Path,
		Took:      took,
		Bytes:     bytes,
		Denied:    errors.Is(err, fault.ErrDenied),
		Query:     r.Query,
		Unindexed: !declared(o.db.Rules(), r.Path, r.Query),
	})
}

// reportBroadcast tells of an event that was queued for its listeners from a time on
// that start returned.
func (o *operations) reportBroadcast(e delivery, began time.Time) {
	if n := len(e.group.listeners); n > 0 && !began.IsZero() {
		o.report(Operation{Name: OpBroadcast, Took: time.Since(began), Path: e.group.path, Bytes: n * e.size(), Listeners: n, Query: e.group.query})
	}
}

// A span says where the time of one write went.
type span struct {
	db     *Database // nil: nobody wants to know
	rest   bool      // the write came by REST
	queued time.Time
	began  time.Time // to be applied, for the last time; zero if nobody watched
	took   time.Duration
	bytes  int // of a value that is not in the write
}

// newSpan returns the span of a write that is queued now.
func (o *operations) newSpan(rest bool) span { return span{db: o.db, rest: rest, queued: time.Now()} }

// apply measures f if somebody watches.
func (l *span) apply(f func() error) error {
	if l.db == nil {
		return f()
	}
	if l.began = l.db.operations.start(); l.began.IsZero() {
		return f()
	}
	defer func() { l.took = time.Since(l.began) }()
	return f()
}

// finish counts a write that is done, and tells of it.
func (l *span) finish(w *Write, err error) {
	if l.db == nil {
		return
	}
	l.db.stats.acks.Observe(time.Since(l.queued))
	if l.began.IsZero() {
		return
	}
	op := Operation{Name: l.name(w), Path: ownPath(w.Base), Took: l.took, Waited: l.began.Sub(l.queued), Denied: errors.Is(err, fault.ErrDenied), Bytes: l.bytes}
	for _, u := range w.Update {
		if text := u.Value.Text(); text != "null" {
			op.Bytes += len(text)
		}
	}
	l.db.report(op)
}

func (l *span) name(w *Write) string {
	switch {
	case l.rest && w.Merge:
		return OpRESTUpdate
	case l.rest:
		return OpRESTWrite
	case w.Merge:
		return OpUpdate
	case w.If != nil:
		return OpTransaction
	}
	return OpWrite
}

// listingBytes returns about how long a listing is.
func listingBytes(l Listing) int { return l.Keys.Size() + len(l.Leaf.Text()) }
