package audience

import (
	"errors"
	"slices"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/watch"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// ErrGone is returned for the view of a listener that was closed.
var ErrGone = errors.New("the listener is closed")

// View reads the whole view at the current revision. From then on the listener
// gets the events of later commits: there is no gap and no overlap.
func (l *Listener) View() (n tree.Node, err error) {
	err = l.look(func(v viewing, brief bool) (err error) {
		n, err = l.text(v, brief)
		return err
	})
	return n, err
}

// look has f read something of the view in the current revision, once or twice, see inTurn.
// From then on the listener gets the events of later commits.
func (l *Listener) look(f func(v viewing, brief bool) error) error {
	v, err := l.join()
	if err != nil {
		return err
	}
	defer v.tx.Rollback()
	v.tx.Hold = l.out.Hold
	err = l.inTurn(func(brief bool) (err error) {
		v.tx.Brief(brief)
		return f(v, brief)
	})
	if errors.Is(err, store.ErrTooBig) {
		return &fault.ReadLimitError{Most: l.audience.host.MaxRead}
	}
	return err
}

// inTurn runs f, which reads something, in the turn of the client among those that read
// briefly. If f takes long, it runs again in the turn of the client among the others. The
// error is ErrGone if the client has gone meanwhile.
func (l *Listener) inTurn(f func(brief bool) error) error {
	for _, brief := range []bool{true, false} {
		done, ok := l.out.TakeTurn(brief)
		if !ok {
			return ErrGone
		}
		err := func() error {
			defer done()
			return f(brief)
		}()
		if !brief || !errors.Is(err, store.ErrLong) {
			return err
		}
	}
	return nil // does not happen
}

// text reads the text of a view.
func (l *Listener) text(v viewing, brief bool) (n tree.Node, err error) {
	if err := v.withinLimits(l.audience.host.Rules(), l.read.Path, l.read.Query); err != nil {
		return tree.Empty, err
	}
	n, err = l.textOf(v, l.audience.mostText(brief))
	return n, tooLong(err, brief)
}

// textOf reads the text of a view, of at most so many bytes.
func (l *Listener) textOf(v viewing, most int64) (tree.Node, error) {
	if l.read.Query.Limit > 0 {
		return v.tx.Children(l.read.Path, v.window, most)
	}
	return v.tx.Window(l.read.Path, l.read.Query, most)
}

// mostText returns how long the text may be that is read of a view at once.
func (a *Audience) mostText(brief bool) int64 {
	if brief {
		return min(a.host.MaxRead, store.BriefBytes)
	}
	return a.host.MaxRead
}

// tooLong returns the error of a read: a brief one that would have been too big is long.
func tooLong(err error, brief bool) error {
	if brief && errors.Is(err, store.ErrTooBig) {
		return store.ErrLong
	}
	return err
}

// A viewing is the state in which the view of a listener is read. The
// transaction is open until the text has been made, and no longer: never while
// it is written to a socket.
type viewing struct {
	tx     *store.Tx
	window []tree.Entry // of a limited view
	admin  bool

	rests []tree.Path // what the permission rests on
	timed bool        // it rests on the time
}

const (
	// joinTries is how often a window is read on a snapshot if too much of it is written
	// meanwhile to bring it up to date.
	joinTries = 6
	// joinTouched is how many children are looked up under the lock to do so.
	joinTouched = 256
	// joinSpare is how many children beyond the window are read, in case that some leave
	// it meanwhile. Each further attempt reads four times as many.
	joinSpare = 64
)

// errStale is returned for a listener that has to be decided about before it is sent
// anything.
var errStale = errors.New("the permission is to be decided again")

// join opens a read transaction and lets events through, both under the database's lock.
// If the listener is the first of its group to see a limited view, the group's window is
// read, too. That may take long without an index, so it is read before that, on a
// snapshot, and the lock is held only to look at the children that were written
// meanwhile.
//
// The lock alone would be enough to make the window and the snapshot agree, but it would
// be held while a window is read, and without an index that means all children. So the
// window is read ahead with some to spare, and corrected under the lock by the children
// that were written since. If too many were, it is read again with four times as much to
// spare; after six attempts the client is told that the database is busy.
func (l *Listener) join() (v viewing, err error) {
	spare := joinSpare
	for try := 0; try < joinTries; try++ {
		early, err := l.lookAhead(spare)
		if err != nil {
			return v, err
		}
		v, err = l.joinWith(early)
		if errors.Is(err, errStale) {
			if err := l.reviewed(); err != nil {
				return v, err
			}
			try--
			continue
		}
		if v.tx != nil || err != nil {
			return v, err
		}
		spare *= 4
	}
	return v, fault.ErrBusy
}

// An earlyWindow is the window of a limited view in a snapshot, with some children beyond
// its far end. A watch tells what was written since.
type earlyWindow struct {
	known []tree.Entry // in query order
	all   bool         // there are no more children in the query's range
	watch *watch.Watch
}

// lookAhead reads the window of a limited view that no listener has seen yet, in the turn
// of the client. It is nil if it is not needed.
func (l *Listener) lookAhead(spare int) (early *earlyWindow, err error) {
	if l.read.Query.Limit == 0 || l.isLive() {
		return nil, nil
	}
	err = l.inTurn(func(brief bool) (err error) {
		early, err = l.lookNow(spare, brief)
		return err
	})
	return early, err
}

// lookNow is lookAhead when it is the turn of the client.
func (l *Listener) lookNow(spare int, brief bool) (early *earlyWindow, err error) {
	d, q := l.audience, l.read.Query
	if l.isLive() { // another listener of the group had its turn
		return nil, nil
	}
	tx, w, err := d.WatchedSnapshot()
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	tx.Hold = l.out.Hold
	tx.Brief(brief)
	q.Limit += spare
	early = &earlyWindow{watch: w}
	if early.known, err = tx.Query(l.read.Path, q); err != nil {
		d.Unwatch(w)
		return nil, err
	}
	early.all = len(early.known) < q.Limit
	return early, nil
}

// isLive reports whether the window of the listener's group is known.
func (l *Listener) isLive() bool {
	l.audience.Lock()
	defer l.audience.Unlock()
	return l.group.live
}

// joinWith is one attempt. It returns no transaction if the early window is out of date.
func (l *Listener) joinWith(early *earlyWindow) (v viewing, err error) {
	d, g, q := l.audience, l.group, l.read.Query
	d.Lock()
	defer d.Unlock()
	if early != nil {
		d.watches.End(early.watch)
	}
	switch {
	case l.shown.Ended():
		return v, ErrGone
	case d.grants.isStale(l.grant):
		return v, errStale
	case q.Limit > 0 && !g.live && early == nil:
		return v, nil
	}
	tx, err := d.host.Begin()
	if err != nil {
		return v, err
	}
	if q.Limit > 0 && !g.live {
		window, ok, err := early.update(tx, g.path, q)
		if err != nil || !ok {
			tx.Rollback()
			return v, err
		}
		g.show(window)
	}
	if g.units > 0 && !l.read.Quota.Fits(0) {
		if !g.live {
			g.show(nil)
		}
		tx.Rollback()
		return v, &fault.LimitError{Bound: fault.BoundQuotaKept}
	}
	g.live = true
	g.reindex()
	l.out.Resume(&l.shown)
	v = viewing{tx: tx, window: g.window, admin: l.read.Caller.Admin}
	if l.grant != nil {
		v.rests, v.timed = l.grant.reads.Paths, l.grant.reads.Now
	}
	return v, nil
}

// update returns the window as it is in tx, which is the state of the last commit. ok is
// false if too much has changed since the snapshot to know it, or a filter takes long to tell.
func (e *earlyWindow) update(tx *store.Tx, p tree.Path, q tree.Query) (window []tree.Entry, ok bool, err error) {
	touched, ok := e.watch.ChildrenOf(p, joinTouched)
	if !ok {
		return nil, false, nil
	}
	known := e.known
	if len(touched) > 0 {
		known = slices.DeleteFunc(slices.Clone(known), func(e tree.Entry) bool { return touched[e.Key] })
	}
	looks := tree.Looks{Data: tx, Path: p, Filter: q.Filter, Shared: &tree.Looks{Most: maxSpent}}
	for key := range touched {
		v, exists, err := tx.Indexes().Value(p.Child(key), q.Order())
		if err != nil {
			return nil, false, err
		}
		one := kept(tree.Entry{Value: v, Key: key})
		if ok, err := selects(&looks, q, one, exists); errors.As(err, new(*tree.LooksError)) {
			return nil, false, nil
		} else if err != nil {
			return nil, false, err
		} else if ok {
			known = e.insert(known, one, q)
		}
	}
	if len(known) > q.Limit {
		return slices.Clone(q.Cut(known)), true, nil
	}
	return known, e.all || len(known) == q.Limit, nil
}

// insert puts a child into its place, unless that is beyond all that are known.
func (e *earlyWindow) insert(known []tree.Entry, one tree.Entry, q tree.Query) []tree.Entry {
	i, _ := slices.BinarySearchFunc(known, one, q.Compare)
	if far := len(known); !e.all && (q.FromLast && i == 0 || !q.FromLast && i == far) {
		return known
	}
	return slices.Insert(known, i, one)
}
