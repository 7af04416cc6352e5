package audience

import (
	"errors"

	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/resume"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A Sight is a view, and what its client lacks of it.
type Sight struct {
	Node  tree.Node // of a view that is Known it may not have been read
	Push  []byte    // of what the client lacks in addition to what it says that it lacks; nil: nothing
	Known bool      // Push is all that it lacks
	Sure  bool      // if it has Push, it has what it says that it has
}

// ViewSince is View for a client that says what it has: all of the view up to a position (nowhere: it
// does not say that), or what has some hash.
//
// If it is known what has changed since the position, and that is less than the view, that is what
// the client lacks. A client that has ended other listens of the same place may have something
// else than the hash says where the view has changed since then.
func (l *Listener) ViewSince(from resume.Position) (s Sight, err error) {
	l.reach(from)
	err = l.look(func(v viewing, brief bool) (err error) {
		s = Sight{}
		e, ok := (*outbox.Event)(nil), false
		if from.Revision > 0 {
			e, ok, err = l.since(v, from, brief)
		}
		switch {
		case err != nil:
			return err
		case !ok:
			s.Node, err = l.text(v, brief)
		case e == nil:
			s.Known = true
			return nil
		default:
			e.Measure()
			less := e.Size() - eventHead
			s.Node, err = l.textOf(v, int64(less))
			if s.Known = errors.Is(err, store.ErrTooBig) || err == nil && len(s.Node.Text()) > less; s.Known {
				s.Push = e.Push(l.shown.Tag)
				return nil
			}
		}
		if err == nil {
			s.Push, s.Sure, err = l.doubted(v, brief)
		}
		return err
	})
	return s, err
}

// reach reads what ViewSince may ask the history.
func (l *Listener) reach(from resume.Position) {
	h, revision := l.audience.host.History, l.audience.revision.Load()
	if h == nil {
		return
	}
	if from.Revision > 0 {
		h.Reach(from, revision)
	}
	if since, doubt := outbox.Doubt(l.out, &l.shown); doubt {
		h.Reach(h.Position(since), revision)
	}
}

// doubted returns the push of what a client may have something else of than it says.
func (l *Listener) doubted(v viewing, brief bool) (push []byte, sure bool, err error) {
	since, doubt := outbox.Doubt(l.out, &l.shown)
	switch {
	case !doubt, since >= v.tx.Revision():
		return nil, true, nil
	case since == 0, l.audience.host.History == nil:
		return nil, false, nil
	}
	e, sure, err := l.since(v, l.audience.host.History.Position(since), brief)
	if e != nil {
		e.Measure()
		push = e.Push(l.shown.Tag)
	}
	return push, sure, err
}

// Sent says that the client is about to be sent what it lacks of the view; whole is that it is all of it.
func (l *Listener) Sent(whole bool) { outbox.Answered(l.out, &l.shown, whole) }

// eventHead is about how long a push is without its data.
const eventHead = 64

// since returns the event of what has changed in a view since a position, nil for nothing. ok is
// false if that is not known.
func (l *Listener) since(v viewing, from resume.Position, brief bool) (e *outbox.Event, ok bool, err error) {
	touched, ok := l.missed(v, from)
	if !ok {
		return nil, false, nil
	}
	if err := v.withinLimits(l.audience.host.Rules(), l.read.Path, l.read.Query); err != nil {
		return nil, false, err
	}
	return l.news(v, touched, brief)
}

// missed returns where the view may have changed since a position. ok is false if that is not
// known, or if the client must not know it.
//
// A path that was written may have been there in between only. Its name is for those clients
// alone that could have followed the view all the time: what the permission rests on now must
// not have changed since the position, so it was the same all the time. The names of children
// that are not in a query now are not told either: they may never have been in it.
func (l *Listener) missed(v viewing, from resume.Position) (touched []resume.Touched, ok bool) {
	q := l.read.Query
	if v.timed {
		return nil, false
	}
	touched, ok = l.audience.host.History.Since(resume.Question{
		From: from, To: v.tx.Revision(), Path: l.read.Path, Rests: v.rests,
		Priorities: l.out.Format() == outbox.Realtime || q.Filter != nil || !q.IsAll() && q.Order() == tree.ByPriority,
	})
	switch {
	case !ok || len(touched) == 0:
		return nil, ok
	case touched[0].Path.IsRoot():
		return nil, false
	case q.IsAll():
		return touched, true
	}
	return l.shownOf(v, touched)
}

// shownOf returns the children of a query that were touched, if the view shows each of them,
// and everything that is in the query's range. Then nothing else has come or gone.
func (l *Listener) shownOf(v viewing, touched []resume.Touched) (children []resume.Touched, ok bool) {
	q := l.read.Query
	if q.Limit > 0 && len(v.window) >= q.Limit {
		return nil, false
	}
	looks := tree.Looks{Data: v.tx, Path: l.read.Path, Filter: q.Filter}
	for _, t := range touched { // those of a child are neighbours
		key, _, _ := t.Path.Cut()
		child := tree.Root.Child(key)
		if n := len(children); n > 0 && children[n-1].Path == child {
			children[n-1].Removed = children[n-1].Removed || t.Removed
			continue
		}
		value, exists, err := v.tx.Indexes().Value(l.read.Path.Join(child), q.Order())
		if err != nil {
			return nil, false
		}
		if ok, err := selects(&looks, q, tree.Entry{Value: value, Key: key}, exists); err != nil || !ok {
			return nil, false
		}
		children = append(children, resume.Touched{Path: child, Removed: t.Removed})
	}
	return children, true
}

// news is the event of the values that there are now where a view was touched, nil for none. All
// of them are of one state. ok is false if they are not all that a client has to know.
func (l *Listener) news(v viewing, touched []resume.Touched, brief bool) (e *outbox.Event, ok bool, err error) {
	left := l.audience.mostText(brief)
	e, ok = &outbox.Event{Path: l.read.Path, Merge: true}, true
	checked := make(map[tree.Path]bool)
	var last tree.Path // the last that is gone, if it is not the root
	for _, t := range touched {
		n, err := v.tx.GetLimit(l.read.Path.Join(t.Path), max(left, 1))
		if left -= int64(len(n.Text())); err == nil && left < 0 {
			err = store.ErrTooBig
		}
		p := t.Path
		if err == nil && n.IsEmpty() {
			p, err = l.gone(v.tx, p)
		}
		if err == nil && (t.Removed || !l.read.Query.IsAll()) && l.out.Format() == outbox.Realtime {
			ok, err = l.bare(v.tx, t.Path, checked, e)
		}
		if err != nil || !ok {
			return nil, false, tooLong(err, brief)
		}
		if n.IsEmpty() {
			if p == last && len(e.Parts) > 0 {
				continue // several that were touched were in it
			}
			last = p
		}
		e.Add(tree.Target{Path: p}, n)
	}
	switch len(e.Parts) {
	case 0:
		e = nil
	case 1:
		e = outbox.Put(tree.Target{Path: l.read.Path.Join(e.Parts[0].Target.Path)}, e.Parts[0].Node)
	}
	return e, true, nil
}

// gone returns the uppermost node of a view that is gone with the one at p. A client to which it
// was a value without children does not learn from the removal of a child that it is gone.
func (l *Listener) gone(tx *store.Tx, p tree.Path) (tree.Path, error) {
	for !p.IsRoot() {
		above, _ := p.Parent()
		if exists, err := tx.Has(l.read.Path.Join(above)); err != nil || exists {
			return p, err
		}
		p = above
	}
	return p, nil
}

// bare adds to an event that the nodes above p have no priority: one of them may have been gone in
// between, and have lost its priority with that. ok is false if one has a priority: clients differ
// in whether it keeps that when all its children are others, and a query that showed nothing did
// not show it.
func (l *Listener) bare(tx *store.Tx, p tree.Path, checked map[tree.Path]bool, e *outbox.Event) (ok bool, err error) {
	for !p.IsRoot() {
		p, _ = p.Parent()
		if checked[p] {
			break
		}
		checked[p] = true
		at := l.read.Path.Join(p)
		exists, err := tx.Has(at)
		if err != nil {
			return false, err
		}
		priority, err := tx.Priority(at)
		if err != nil || !priority.IsEmpty() {
			return false, err
		}
		if exists {
			e.Add(tree.Target{Path: p, Priority: true}, tree.Empty)
		}
	}
	return true, nil
}
