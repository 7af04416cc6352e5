package audience

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"runtime"
	"time"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// A Listener is one client's interest in one view. Its events go to its Outbox.
//
// It is made by the goroutine of the client, which calls Attach, Show and
// Close. From Attach on, read, group, grant, slot and revoked belong to the
// lock of the audience; shown has its own rules (package outbox). weight, out
// and audience do not change after Attach.
type Listener struct {
	// The fields that an event needs come first: with thousands of listeners they are in no cache.
	out     *outbox.Outbox
	revoked bool        // by the batch that is being applied
	grant   *grant      // nil for an administrator
	shown   outbox.View // ends with the audience's lock held

	audience  *Audience
	read      access.Read
	weight    int // of its query, when it came
	group     *group
	slot      int // in group.listeners
	grantSlot int // in grant.listeners

	onRevoke func(error) // the rules no longer allow the listen; called with the audience's lock held
}

// NewListener returns a listener that is not attached yet. onRevoke is called with the lock
// held when the rules no longer allow the listen.
func (a *Audience) NewListener(r access.Read, out *outbox.Outbox, tag int64, onRevoke func(error)) *Listener {
	l := &Listener{audience: a, out: out, read: r, shown: outbox.View{Tag: tag}, weight: a.weight(r.Path, r.Query), onRevoke: onRevoke}
	if r.Notify {
		l.shown.Notice = new(outbox.Notice)
	}
	return l
}

// Show has the first messages of the listener made by first when it is their turn to be sent.
// They take size bytes until then.
func (l *Listener) Show(size int, first func() [][]byte) {
	l.out.PushView(&l.shown, size, func() [][]byte { return l.first(first) })
}

// Ended reports whether the listen has ended.
func (l *Listener) Ended() bool { return l.shown.Ended() }

// Follows returns what the listener follows, and as whose. The lock is held, or the listener's
// client does nothing meanwhile.
func (l *Listener) Follows() access.Read { return l.read }

// Window returns what a query with a limit shows; live reports whether it is known. The lock
// is held, or nobody writes meanwhile.
func (l *Listener) Window() (window []tree.Entry, live bool) { return l.group.window, l.group.live }

// Weight returns what the listener counts for in the bounds of windows. It may be more after
// Attach.
func (l *Listener) Weight() int { return l.weight }

// Attach registers the listener if its caller may read the view, and tells of the listen if
// not.
func (l *Listener) Attach(ctx context.Context) error {
	err := l.audience.attach(ctx, l)
	if err != nil {
		l.report(0, 0, err)
	}
	return err
}

// attach registers a listener if the caller may read the view. What the listener shows is
// measured when writes already are told to it, so nothing can outgrow a .limit in between.
//
// The quota is taken first and given back if anything fails, so that a client cannot have
// more listens decided at a time than it may have.
func (a *Audience) attach(ctx context.Context, l *Listener) (err error) {
	l.shown.Path, l.shown.Whole, l.shown.Counts = l.read.Path, l.resync, a.host.Sent
	if err := a.weigh(l); err != nil {
		return err
	}
	switch err := l.read.Quota.Take(l.read.Path, l.read.Query); {
	case errors.Is(err, limit.ErrFull):
		return &fault.LimitError{Bound: fault.BoundCommonListens}
	case err != nil:
		return &fault.LimitError{Bound: fault.BoundQuotaListens}
	}
	var refused error
	err = a.admit(ctx, l.turn(), []*candidate{{listener: l, read: l.read}}, func(l *Listener, g *grant, err error) {
		if refused = err; err == nil {
			refused = a.enroll(l, g)
		}
	})
	if err = cmp.Or(err, refused); err != nil {
		l.read.Quota.Give(l.read.Path, l.read.Query)
		return err
	}
	if err = a.host.Access.RequireIndex(a.host.Rules(), l.read); err == nil {
		err = a.bound(l.turn(), l.read)
	}
	if err != nil {
		l.Close()
	}
	return err
}

// enroll makes an allowed listener one of the audience, if there is room for its query.
// the lock is held.
func (a *Audience) enroll(l *Listener, g *grant) error {
	if a.host.Closed() {
		return fault.ErrClosed
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
func (l *Listener) turn() *limit.Share { return l.audience.TurnFor(l.out) }

// TurnFor returns with whom the client of an outbox takes turns to be decided about.
func (a *Audience) TurnFor(o *outbox.Outbox) *limit.Share {
	if p := o.Deciders(); p != nil {
		return p
	}
	return a.deciders
}

// Close ends the listen. Events that are queued are not sent.
func (l *Listener) Close() {
	l.audience.End(func(yield func(*Listener) bool) { yield(l) })
}

// endAtOnce is how many listens End ends before it lets a batch that waits go on.
const endAtOnce = 256

// End ends listens. It waits for the batch that is being committed once for some hundreds of
// them, and not for each.
func (a *Audience) End(listeners iter.Seq[*Listener]) {
	a.Lock()
	defer a.Unlock()
	n := 0
	for l := range listeners {
		if !l.shown.Ended() {
			a.remove(l)
		}
		if n++; n%endAtOnce == 0 {
			a.Unlock()
			runtime.Gosched()
			a.Lock()
		}
	}
}

// remove ends a listen that goes on. the lock is held.
func (a *Audience) remove(l *Listener) {
	outbox.End(l.out, &l.shown, a.revision.Load())
	a.grants.leave(l)
	a.hub.remove(l)
	l.read.Quota.Give(l.read.Path, l.read.Query)
	a.host.Watchers.Tell(trace.Operation{Name: trace.OpUnlisten, Path: l.read.Path, Query: l.read.Query})
}

// resync returns the messages that give the client the whole view. If it cannot
// be read, the client is disconnected. To end the connection is the last resort
// and a correct one: the client connects again and gets its view, while a view
// that is left out would stay wrong.
func (l *Listener) resync() [][]byte {
	if l.shown.Notice == nil && l.out.Format() == outbox.EventStream {
		return l.blocks(l.whole)
	}
	msg, err := l.all()
	if err != nil {
		l.failed(err)
		return nil
	}
	return [][]byte{msg}
}

// all begins to follow the view, and returns the message that is about all of it.
func (l *Listener) all() ([]byte, error) {
	if l.shown.Notice != nil {
		return l.NoticeOfAll()
	}
	n, err := l.View()
	if err != nil {
		return nil, err
	}
	return l.Push(n), nil
}

// failed ends a listen whose view cannot be read.
func (l *Listener) failed(err error) {
	switch {
	case errors.Is(err, ErrGone):
	case outgrown(err):
		l.outgrow(err)
	default:
		if !errors.Is(err, fault.ErrTooBig) && !errors.Is(err, fault.ErrClosed) && !errors.Is(err, fault.ErrBusy) {
			l.audience.host.Log.Error("view could not be read", "path", l.read.Path, "err", err)
		}
		l.Close()
		l.out.Shut(err)
	}
}

// outgrown reports whether a listen ends because there is too much to see, to look at or to keep, and
// not because of its permission.
func outgrown(why error) bool {
	return errors.As(why, new(*fault.UnboundedError)) || errors.As(why, new(*tree.LooksError)) || errors.As(why, new(*fault.LimitError))
}

// outgrow ends a listen whose view has become larger than the rules or a quota allow.
func (l *Listener) outgrow(why error) {
	l.audience.Lock()
	defer l.audience.Unlock()
	if !l.shown.Ended() {
		l.audience.revoke(l, why)
	}
}

// Push returns the push that sets the whole view.
func (l *Listener) Push(n tree.Node) []byte {
	buf := make([]byte, 0, len(n.Text())+len(l.read.Path.Clean())+96)
	return wire.AppendPush(buf, wire.PushData, l.read.Path.Clean(), n.JSON(), l.shown.Tag)
}

// ErrCancelled is why the outbox of an event stream closes whose listen has ended.
var ErrCancelled = errors.New("the listen was cancelled")

// decideListen asks whether a listen is allowed. A panic must not end the committer or the
// listens of others.
//
// It does not look at indexes. Only event streams need one, when they begin (attach), and they share
// their decisions with listens of the realtime protocol, which need none.
func (a *Audience) decideListen(ctx context.Context, at access.State, r access.Read) error {
	r.OneShot = false
	return fault.Guard(func() error { return a.host.Access.Read(ctx, at, r) })
}

// revoke ends a listen that the rules no longer allow, or cannot decide. Without the
// database's data it ends the connection instead: the client listens again when it is
// back, and a refusal would be for good. the lock is held.
func (a *Audience) revoke(l *Listener, why error) {
	if errors.Is(why, fault.ErrFailed) || errors.Is(why, fault.ErrClosed) {
		a.remove(l)
		l.out.Shut(why)
		return
	}
	switch large := (*fault.UnboundedError)(nil); {
	case errors.As(why, &large):
		a.host.Log.Warn("a listen has outgrown its limit", "database", a.host.Name, "path", l.read.Path, "rule", large.Limit.Path, "max", large.Limit.Max)
	case !errors.Is(why, fault.ErrDenied) && !outgrown(why):
		a.host.Log.Error("a listen could not be decided again", "database", a.host.Name, "path", l.read.Path, "err", why)
	}
	a.remove(l)
	l.onRevoke(why)
}

// A revocation is a listener that loses its view when the batch is committed.
type revocation struct {
	listener *Listener
	why      error
}

// first makes the first messages of a listener by f, and tells of the listen.
func (l *Listener) first(f func() [][]byte) [][]byte {
	began := l.audience.host.Watchers.Begin()
	msgs := f()
	if !began.IsZero() {
		bytes := 0
		for _, msg := range msgs {
			bytes += len(msg)
		}
		l.report(time.Since(began), bytes, nil)
	}
	return msgs
}

func (l *Listener) report(took time.Duration, bytes int, err error) {
	if l.audience.host.Watchers.Len() == 0 {
		return
	}
	l.audience.host.Watchers.Tell(trace.Operation{
		Name:      trace.OpListen,
		Path:      l.read.Path,
		Took:      took,
		Bytes:     bytes,
		Denied:    errors.Is(err, fault.ErrDenied),
		Query:     l.read.Query,
		Unindexed: !l.audience.host.Access.Declared(l.audience.host.Rules(), l.read.Path, l.read.Query),
	})
}
