package sync

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A Listener is one client's interest in one view. Its events go to its Outbox.
type Listener struct {
	db   *Database
	out  *Outbox
	read Read
	tag  int64 // of the realtime protocol; 0: none
	size int   // what it counts for in its session

	weight int // of its query, when it came
	group  *group
	slot   int // in group.listeners

	grant     *grant // nil for an administrator
	grantSlot int    // in grant.listeners
	revoked   bool   // by the batch that is being applied

	waiting  bool        // its view is queued; guarded by out.mu
	closed   atomic.Bool // set with db.mu held
	onRevoke func(error) // the rules no longer allow the listen; called with db.mu held
}

// Listen starts to follow a view for an event stream. Its first event is the
// whole view; errors are as for Get.
func (d *Database) Listen(ctx context.Context, r Read, out *Outbox) (*Listener, error) {
	l := &Listener{db: d, out: out, read: r, weight: d.weight(r.Path, r.Query)}
	l.onRevoke = func(why error) {
		text := "Permission denied"
		if large := (*UnboundedError)(nil); errors.As(why, &large) {
			text = large.Error()
		}
		out.PushFrame([]byte("event: cancel\ndata: " + string(wire.AppendString(nil, text)) + "\n\n"))
		out.shut(errCancelled)
	}
	if err := d.attach(ctx, l); err != nil {
		d.toldListen(l, 0, 0, err)
		return nil, err
	}
	out.pushView(l, 0, func() [][]byte { return l.first(l.resync) })
	return l, nil
}

// attach registers a listener if the caller may read the view.
func (d *Database) attach(ctx context.Context, l *Listener) error {
	l.waiting = true // nothing before the view
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.hub.room(l, l.read.Path, l.read.Query); err != nil {
		return err
	}
	if !l.read.Quota.takeListen(l) {
		return &LimitError{BoundQuotaListens}
	}
	err := d.snapshot(func(tx *store.Tx) error { return d.permitted(ctx, d.rules.Load(), tx, l, make(refusals)) })
	if err != nil {
		l.read.Quota.giveListen(l)
		return err
	}
	l.read.Caller.Trace = nil // whoever asked has the answer
	d.hub.add(l, l.read.Path, l.read.Query)
	return nil
}

// Close ends the listen. Events that are queued are not sent.
func (l *Listener) Close() {
	l.db.end(func(yield func(*Listener) bool) { yield(l) })
}

// end ends listens. It waits for the batch that is being committed once, not for
// each of them.
func (d *Database) end(listeners iter.Seq[*Listener]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for l := range listeners {
		if !l.closed.Load() {
			d.remove(l)
		}
	}
}

// remove ends a listen that goes on. d.mu is held.
func (d *Database) remove(l *Listener) {
	l.closed.Store(true)
	d.grants.leave(l)
	d.hub.remove(l)
	l.read.Quota.giveListen(l)
	d.told(Operation{Name: OpUnlisten, Path: l.read.Path, Query: l.read.Query})
}

// resync returns the messages that give the client the whole view. If it cannot
// be read, the client is disconnected.
func (l *Listener) resync() [][]byte {
	n, err := l.view()
	switch {
	case errors.Is(err, errGone):
		return nil
	case err != nil:
		if !errors.Is(err, ErrTooBig) && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrBusy) {
			l.db.log.Error("view could not be read", "path", l.read.Path, "err", err)
		}
		l.Close()
		l.out.shut(err)
		return nil
	case l.out.format == EventStream:
		return [][]byte{put(tree.Target{Path: l.read.Path}, n).streamBlock(l.read.Path)}
	}
	return [][]byte{l.push(n)}
}

// push returns the push that sets the whole view.
func (l *Listener) push(n tree.Node) []byte {
	buf := make([]byte, 0, len(n.Text())+len(l.read.Path.Clean())+96)
	return wire.AppendPush(buf, wire.PushData, l.read.Path.Clean(), n.JSON(), l.tag)
}

// errGone is returned for the view of a listener that was closed.
var errGone = errors.New("the listener is closed")

// view reads the whole view at the current revision. From then on the listener
// gets the events of later commits: there is no gap and no overlap.
func (l *Listener) view() (tree.Node, error) {
	tx, err := l.join()
	if err != nil {
		return tree.Empty, err
	}
	defer tx.Rollback()
	defer l.out.takeTurn()()
	tx.Hold = l.out.hold
	n, err := tx.Window(l.read.Path, l.read.Query, l.db.options.MaxRead)
	if errors.Is(err, store.ErrTooBig) {
		return n, ErrTooBig
	}
	return n, err
}

// A glimpse is the window of a limited view as it was at a revision.
type glimpse struct {
	window   []tree.Entry
	revision uint64
}

// join opens a read transaction and lets events through, both under the
// database's lock. If the listener is the first of its group to see a limited
// view, the group's window is read, too. That may take long without an index, so
// it is first tried without the lock, in the hope that nothing is committed
// meanwhile.
func (l *Listener) join() (*store.Tx, error) {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		early, err := l.lookAhead()
		if err != nil {
			return nil, err
		}
		tx, err := l.joinWith(early, attempt == attempts)
		if tx != nil || err != nil {
			return tx, err
		}
	}
}

func (l *Listener) lookAhead() (early glimpse, err error) {
	if l.read.Query.Limit == 0 {
		return early, nil
	}
	l.db.mu.Lock()
	live := l.group.live
	l.db.mu.Unlock()
	if live {
		return early, nil
	}
	err = l.db.snapshot(func(tx *store.Tx) error {
		early.revision = tx.Revision()
		tx.Hold = l.out.hold
		early.window, err = tx.Query(l.read.Path, l.read.Query)
		return err
	})
	return early, err
}

// joinWith is one attempt. It returns nothing if the glimpse is out of date,
// unless it is the last attempt.
func (l *Listener) joinWith(early glimpse, last bool) (*store.Tx, error) {
	d, g, q := l.db, l.group, l.read.Query
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.closed.Load() {
		return nil, errGone
	}
	tx, err := d.begin()
	if err != nil {
		return nil, err
	}
	if q.Limit > 0 && !g.live && tx.Revision() != early.revision {
		if last {
			early.window, err = tx.Query(l.read.Path, q)
		}
		if !last || err != nil {
			tx.Rollback()
			return nil, err
		}
	}
	if !g.live {
		g.live, g.window = true, early.window
	}
	l.out.resume(l)
	return tx, nil
}
