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
	db    *Database
	out   *Outbox
	read  Read
	tag   int64 // of the realtime protocol; 0: none
	group *group
	slot  int // in group.listeners

	waiting  bool // its view is queued; guarded by out.mu
	closed   atomic.Bool
	onRevoke func() // the rules no longer allow the listen; called with db.mu held
}

// Listen starts to follow a view for an event stream. Its first event is the
// whole view; errors are as for Get.
func (d *Database) Listen(ctx context.Context, r Read, out *Outbox) (*Listener, error) {
	l := &Listener{db: d, out: out, read: r}
	l.onRevoke = func() {
		out.PushFrame([]byte("event: cancel\ndata: \"Permission denied\"\n\n"))
		out.shut(errCancelled)
	}
	if err := d.attach(ctx, l); err != nil {
		return nil, err
	}
	out.pushView(l, (*Listener).resyncOrCancel)
	return l, nil
}

// attach registers a listener if the caller may read the view.
func (d *Database) attach(ctx context.Context, l *Listener) error {
	err := d.store.View(func(tx *store.Tx) error { return d.authorizeRead(ctx, tx, l.read) })
	if err != nil {
		return err
	}
	l.waiting = true // nothing before the view
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hub.add(l, l.read.Path, l.read.Query)
	return nil
}

// Close ends the listen. Events that are queued are not sent.
func (l *Listener) Close() {
	if l.closed.Swap(true) {
		return
	}
	l.db.mu.Lock()
	defer l.db.mu.Unlock()
	l.db.hub.remove(l)
}

// revoke ends those of the given listens that the rules no longer allow. d.mu is
// held.
func (d *Database) revoke(listeners iter.Seq[*Listener]) {
	err := d.store.View(func(tx *store.Tx) error {
		for l := range listeners {
			if l.closed.Load() {
				continue
			}
			if err := d.authorizeRead(context.Background(), tx, l.read); err == nil {
				continue
			}
			l.closed.Store(true)
			d.hub.remove(l)
			l.onRevoke()
		}
		return nil
	})
	if err != nil {
		d.log.Error("listens could not be decided again", "database", d.store.String(), "err", err)
	}
}

// resync returns the messages that give the client the whole view.
func (l *Listener) resync() [][]byte { return l.resyncOrCancel() }

func (l *Listener) resyncOrCancel() [][]byte {
	n, err := l.view()
	switch {
	case errors.Is(err, errGone):
		return nil
	case err != nil:
		l.db.log.Error("view could not be read", "path", l.read.Path, "err", err)
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
	n, err := tx.Window(l.read.Path, l.read.Query, l.db.options.MaxRead)
	if errors.Is(err, store.ErrTooBig) {
		return n, ErrTooBig
	}
	return n, err
}

// join opens a read transaction and lets events through, both under the
// database's lock. If the listener is the first of its group to see a limited
// view, the group's window is read, too. That may take long without an index, so
// it is first tried without the lock, in the hope that nothing is committed
// meanwhile.
func (l *Listener) join() (*store.Tx, error) {
	const attempts = 3
	d, q := l.db, l.read.Query
	for attempt := 1; ; attempt++ {
		var early []tree.Entry
		var revision uint64
		if q.Limit > 0 {
			var err error
			if early, revision, err = l.lookAhead(); err != nil {
				return nil, err
			}
		}
		d.mu.Lock()
		if l.closed.Load() {
			d.mu.Unlock()
			return nil, errGone
		}
		tx, err := d.store.Begin(false)
		if err == nil && q.Limit > 0 && !l.group.live && tx.Revision() != revision {
			if attempt < attempts {
				d.mu.Unlock()
				tx.Rollback()
				continue
			}
			early, err = tx.Query(l.read.Path, q)
		}
		if err == nil {
			if !l.group.live {
				l.group.live, l.group.window = true, early
			}
			l.out.resume(l)
		}
		d.mu.Unlock()
		return tx, err
	}
}

func (l *Listener) lookAhead() (entries []tree.Entry, revision uint64, err error) {
	l.db.mu.Lock()
	live := l.group.live
	l.db.mu.Unlock()
	if live {
		return nil, 0, nil
	}
	err = l.db.store.View(func(tx *store.Tx) error {
		revision = tx.Revision()
		entries, err = tx.Query(l.read.Path, l.read.Query)
		return err
	})
	return entries, revision, err
}
