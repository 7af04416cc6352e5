package sync

import (
	"errors"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// view reads the whole view at the current revision. From then on the listener
// gets the events of later commits: there is no gap and no overlap.
func (l *Listener) view() (tree.Node, error) {
	v, err := l.join()
	if err != nil {
		return tree.Empty, err
	}
	defer v.tx.Rollback()
	defer l.out.TakeTurn()()
	v.tx.Hold = l.out.Hold
	if err := v.withinLimits(l.db.rules.Load(), l.read.Path, l.read.Query); err != nil {
		return tree.Empty, err
	}
	var n tree.Node
	if l.read.Query.Limit > 0 {
		n, err = v.tx.Children(l.read.Path, v.window, l.db.options.MaxRead)
	} else {
		n, err = v.tx.Window(l.read.Path, l.read.Query, l.db.options.MaxRead)
	}
	if errors.Is(err, store.ErrTooBig) {
		return n, ErrTooBig
	}
	return n, err
}

// A viewing is the state in which the view of a listener is read.
type viewing struct {
	tx     *store.Tx
	window []tree.Entry // of a limited view
	admin  bool
}

const (
	// joinTries is how often a window is read on a snapshot if too much of it is written
	// meanwhile to bring it up to date.
	joinTries = 6
	// joinTouched is how many children are looked up under the database's mu to do so.
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
	return v, ErrBusy
}

// An earlyWindow is the window of a limited view in a snapshot, with some children beyond
// its far end. A watch tells what was written since.
type earlyWindow struct {
	known []tree.Entry // in query order
	all   bool         // there are no more children in the query's range
	watch *watch
}

// lookAhead reads the window of a limited view that no listener has seen yet, in the turn
// of the client. It is nil if it is not needed.
func (l *Listener) lookAhead(spare int) (early *earlyWindow, err error) {
	d, q := l.db, l.read.Query
	if q.Limit == 0 || l.isLive() {
		return nil, nil
	}
	defer l.out.TakeTurn()()
	if l.isLive() { // another listener of the group had its turn
		return nil, nil
	}
	tx, w, err := d.watchedSnapshot()
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	tx.Hold = l.out.Hold
	q.Limit += spare
	early = &earlyWindow{watch: w}
	if early.known, err = tx.Query(l.read.Path, q); err != nil {
		d.unwatch(w)
		return nil, err
	}
	early.all = len(early.known) < q.Limit
	return early, nil
}

// isLive reports whether the window of the listener's group is known.
func (l *Listener) isLive() bool {
	l.db.mu.Lock()
	defer l.db.mu.Unlock()
	return l.group.live
}

// joinWith is one attempt. It returns no transaction if the early window is out of date.
func (l *Listener) joinWith(early *earlyWindow) (v viewing, err error) {
	d, g, q := l.db, l.group, l.read.Query
	d.mu.Lock()
	defer d.mu.Unlock()
	if early != nil {
		delete(d.watches, early.watch)
	}
	switch {
	case l.shown.Ended():
		return v, errGone
	case d.grants.isStale(l.grant):
		return v, errStale
	case q.Limit > 0 && !g.live && early == nil:
		return v, nil
	}
	tx, err := d.begin()
	if err != nil {
		return v, err
	}
	if q.Limit > 0 && !g.live {
		window, ok, err := early.update(tx, g.path, q)
		if err != nil || !ok {
			tx.Rollback()
			return v, err
		}
		g.window = window
	}
	g.live = true
	l.out.Resume(&l.shown)
	return viewing{tx, g.window, l.read.Caller.Admin}, nil
}

// update returns the window as it is in tx, which is the state of the last commit. ok is
// false if too much has changed since the snapshot to know it.
func (e *earlyWindow) update(tx *store.Tx, p tree.Path, q tree.Query) (window []tree.Entry, ok bool, err error) {
	touched, ok := e.watch.childrenOf(p)
	if !ok {
		return nil, false, nil
	}
	known := e.known
	if len(touched) > 0 {
		known = slices.DeleteFunc(slices.Clone(known), func(e tree.Entry) bool { return touched[e.Key] })
	}
	for key := range touched {
		v, exists, err := tx.Indexes().Value(p.Child(key), q.Order())
		if err != nil {
			return nil, false, err
		}
		if one := (tree.Entry{Value: v, Key: key}); exists && q.InRange(one) {
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

// childrenOf returns the children of p that were written. ok is false if there are more
// than joinTouched, or p was written as a whole.
func (w *watch) childrenOf(p tree.Path) (keys map[string]bool, ok bool) {
	if w.changed {
		return nil, false
	}
	for _, written := range w.written {
		switch {
		case written.Contains(p):
			return nil, false
		case !p.Contains(written):
			continue
		}
		key, _, _ := p.Rel(written).Cut()
		if keys == nil {
			keys = make(map[string]bool)
		}
		if keys[key] = true; len(keys) > joinTouched {
			return nil, false
		}
	}
	return keys, true
}
