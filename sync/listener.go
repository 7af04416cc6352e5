package sync

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// A Listener is one client's interest in one view. Its events go to its Outbox.
type Listener struct {
	db    *Database
	out   *outbox.Outbox
	read  Read
	shown outbox.View // ends with db.mu held
	size  int         // what it counts for in its session

	weight int // of its query, when it came
	group  *group
	slot   int // in group.listeners

	grant     *grant // nil for an administrator
	grantSlot int    // in grant.listeners
	revoked   bool   // by the batch that is being applied

	onRevoke func(error) // the rules no longer allow the listen; called with db.mu held
}

// Listen starts to follow a view for an event stream. Its first event is the
// whole view; errors are as for Get.
func (d *Database) Listen(ctx context.Context, r Read, out *outbox.Outbox) (*Listener, error) {
	l := &Listener{db: d, out: out, read: r, weight: d.weight(r.Path, r.Query)}
	l.onRevoke = func(why error) {
		text := "Permission denied"
		if large := (*UnboundedError)(nil); errors.As(why, &large) {
			text = large.Error()
		}
		out.PushFrame([]byte("event: cancel\ndata: " + string(wire.AppendString(nil, text)) + "\n\n"))
		out.Shut(errCancelled)
	}
	if err := d.attach(ctx, l); err != nil {
		d.toldListen(l, 0, 0, err)
		return nil, err
	}
	out.PushView(&l.shown, 0, func() [][]byte { return l.first(l.resync) })
	return l, nil
}

// attach registers a listener if the caller may read the view. What the listener shows is
// measured when writes already are told to it, so nothing can outgrow a .limit in between.
func (a *audience) attach(ctx context.Context, l *Listener) (err error) {
	l.shown.Path, l.shown.Whole, l.shown.Counts = l.read.Path, l.resync, &a.db.stats.sent
	if err := a.weigh(l); err != nil {
		return err
	}
	if !l.read.Quota.takeListen(l) {
		return &LimitError{BoundQuotaListens}
	}
	var refused error
	err = a.admit(ctx, l.turn(), []*candidate{{listener: l, read: l.read}}, func(l *Listener, g *grant, err error) {
		if refused = err; err == nil {
			refused = a.enroll(l, g)
		}
	})
	if err = cmp.Or(err, refused); err != nil {
		l.read.Quota.giveListen(l)
		return err
	}
	if err := a.bound(l.turn(), l.read); err != nil {
		l.Close()
		return err
	}
	return nil
}

// enroll makes an allowed listener one of the audience, if there is room for its query.
// d.mu is held.
func (a *audience) enroll(l *Listener, g *grant) error {
	if a.db.closed.Load() {
		return ErrClosed
	}
	if err := a.hub.room(l, l.read.Path, l.read.Query); err != nil {
		return err
	}
	l.read.Caller.Trace = nil // whoever asked has the answer
	if g != nil {
		g.join(l)
	}
	a.hub.add(l, l.read.Path, l.read.Query)
	return nil
}

// turn returns with whom the listener takes turns to be decided and measured.
func (l *Listener) turn() *limit.Share { return l.db.turnFor(l.out) }

// turnFor returns with whom the client of an outbox takes turns to be decided about.
func (a *audience) turnFor(o *outbox.Outbox) *limit.Share {
	if p := o.Deciders(); p != nil {
		return p
	}
	return a.deciders
}

// Close ends the listen. Events that are queued are not sent.
func (l *Listener) Close() {
	l.db.end(func(yield func(*Listener) bool) { yield(l) })
}

// end ends listens. It waits for the batch that is being committed once, not for
// each of them.
func (a *audience) end(listeners iter.Seq[*Listener]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for l := range listeners {
		if !l.shown.Ended() {
			a.remove(l)
		}
	}
}

// remove ends a listen that goes on. d.mu is held.
func (a *audience) remove(l *Listener) {
	l.shown.End()
	a.grants.leave(l)
	a.hub.remove(l)
	l.read.Quota.giveListen(l)
	a.db.told(Operation{Name: OpUnlisten, Path: l.read.Path, Query: l.read.Query})
}

// resync returns the messages that give the client the whole view. If it cannot
// be read, the client is disconnected.
func (l *Listener) resync() [][]byte {
	n, err := l.view()
	switch {
	case errors.Is(err, errGone):
		return nil
	case errors.As(err, new(*UnboundedError)):
		l.outgrow(err)
		return nil
	case err != nil:
		if !errors.Is(err, ErrTooBig) && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrBusy) {
			l.db.log.Error("view could not be read", "path", l.read.Path, "err", err)
		}
		l.Close()
		l.out.Shut(err)
		return nil
	case l.out.Format() == outbox.EventStream:
		return [][]byte{outbox.Put(tree.Target{Path: l.read.Path}, n).Block(l.read.Path)}
	}
	return [][]byte{l.push(n)}
}

// outgrow ends a listen whose view has become larger than the rules allow.
func (l *Listener) outgrow(why error) {
	l.db.mu.Lock()
	defer l.db.mu.Unlock()
	if !l.shown.Ended() {
		l.db.revoke(l, why)
	}
}

// push returns the push that sets the whole view.
func (l *Listener) push(n tree.Node) []byte {
	buf := make([]byte, 0, len(n.Text())+len(l.read.Path.Clean())+96)
	return wire.AppendPush(buf, wire.PushData, l.read.Path.Clean(), n.JSON(), l.shown.Tag)
}

// errCancelled is why the outbox of an event stream closes whose listen has ended.
var errCancelled = errors.New("the listen was cancelled")

// errGone is returned for the view of a listener that was closed.
var errGone = errors.New("the listener is closed")
