package outbox

import (
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// A client that ends a listen keeps what it was sent of it, and may hand that on to other listens
// of the same place: the SDKs listen to /a/b, and then end the listen of /a. Events that waited
// are not sent, and there are none of later writes. So the client may have the first of two
// changes that cancel each other out. There are views that must not rest on that:
//
//   - A view that is made later, if the client says by a hash that it has it. It may have computed
//     that hash before it got the first of the changes. Doubt tells.
//   - A view that was made while older events of the other one waited behind it. All of them together
//     end with the same state. If some of them are left out, the view is sent again.

const (
	// maxLeft bounds the ended views that are kept in mind. If there are more, it is as if all of them
	// had been a view of everything.
	maxLeft = 64
	// maxResting bounds the views of the second kind. Those beyond it are sent again in any case.
	maxResting = 1024
)

// A leftView is a view that has ended. Until then its client had what it was sent, and nothing in
// between was missing.
type leftView struct {
	path     tree.Path
	tag      int64
	revision uint64 // of the last commit before its end; 0: the client was not sent all of that
}

// A restingView was made in front of older items of others.
type restingView struct {
	view *View
	last uint64 // the number of the last of the items
}

// Leave says that the client leaves: it will ask for nothing more.
func Leave(o *Outbox) {
	o.mu.Lock()
	o.leaving, o.left, o.resting = true, nil, nil
	o.mu.Unlock()
}

// End ends a view. Its events that wait are not sent. revision is that of the last commit whose events
// were queued.
func End(o *Outbox, v *View, revision uint64) {
	o.mu.Lock()
	wasEmpty := o.items.Len() == 0
	v.ended.Store(true)
	if v.told && !o.leaving && o.format == Realtime {
		if !v.answered {
			revision = 0
		}
		leave(o, leftView{v.Path, v.Tag, revision})
		if !v.live { // all of it was to be sent again
			leaveOut(o, v)
		}
	}
	waits := o.items.Len() > 0
	o.mu.Unlock()
	if wasEmpty && waits {
		o.notify()
	}
}

// leave keeps the end of a view in mind, as the newest. mu is held.
func leave(o *Outbox, end leftView) {
	full := len(o.left) == maxLeft
	o.left = slices.DeleteFunc(o.left, func(l leftView) bool {
		old := full || l.path == end.path && l.tag == end.tag
		if old {
			end.revision = min(l.revision, end.revision)
		}
		return old
	})
	if full {
		end.path, end.tag = tree.Root, 0
	}
	o.left = append(o.left, end)
}

// leaveOut notes, once, that something of a view that has ended is not sent. mu is held.
func leaveOut(o *Outbox, v *View) {
	if !v.told {
		return
	}
	v.told = false
	doubtAll(o, v)
	for _, r := range o.resting {
		if r.view.live && !r.view.Ended() && r.view.restsOn(v) {
			o.append(r.view.whole())
		}
	}
}

// doubtAll notes that something of a view that has ended was left out. mu is held.
func doubtAll(o *Outbox, v *View) {
	for i := range o.left {
		if l := &o.left[i]; l.path == v.Path && l.tag == v.Tag || l.path.IsRoot() {
			l.revision = 0
		}
	}
}

// restsOn reports whether the client has v only if it is sent all that waits of another view. The
// events of a view without a tag gave way to one above it.
func (v *View) restsOn(other *View) bool {
	gaveWay := v.pushed && other.Tag == 0 && covers(v.Path, v.Tag, other.Path, other.Tag)
	return !gaveWay && meet(v.Path, v.Tag, other.Path, other.Tag)
}

// meet reports whether what is sent of one of two views may change what the client has of the
// other. Tags keep them apart, but what has no tag is for all of them.
func meet(p tree.Path, tag int64, other tree.Path, otherTag int64) bool {
	return (tag == otherTag || tag == 0 || otherTag == 0) && (p.Contains(other) || other.Contains(p))
}

// covers reports whether the client that has one of two views has the other.
func covers(p tree.Path, tag int64, other tree.Path, otherTag int64) bool {
	return tag == otherTag && p == other || tag == 0 && p.Contains(other)
}

// rest notes that a view is made in front of older items of others. Items of those that have ended
// will not be sent, so the view is not to rest on them at all. mu is held.
func rest(o *Outbox, v *View) {
	if o.items.Len() == 0 || o.leaving || o.format != Realtime {
		return
	}
	number, last := o.taken, uint64(0)
	o.items.Keep(func(it *item) bool {
		number++
		switch w := it.view; {
		case w == nil, w == v, !w.told, !v.restsOn(w):
		case w.Ended():
			doubtAll(o, w)
		default:
			last = number
		}
		return true
	})
	switch {
	case last == 0:
	case len(o.resting) == maxResting:
		o.append(v.whole())
	default:
		o.resting = append(o.resting, restingView{v, last})
	}
}

// forgetRested forgets the views behind which all items were taken that waited then. mu is held.
func forgetRested(o *Outbox) {
	o.resting = slices.DeleteFunc(o.resting, func(r restingView) bool { return r.last < o.taken })
}

// Answered says that the client is about to be sent what it lacks of a view, be it all of it
// (pushed), a part, or nothing. From then on, it has the view, unless that has ended meanwhile.
func Answered(o *Outbox, v *View, pushed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v.Ended() {
		return
	}
	v.answered, v.pushed = true, pushed
	o.left = slices.DeleteFunc(o.left, func(l leftView) bool { return covers(v.Path, v.Tag, l.path, l.tag) })
}

// Doubt reports whether a client may have something else of a view than it says, because of listens
// that it has ended. It has not if the view is what it was at a revision; 0: that is not known.
func Doubt(o *Outbox, v *View) (since uint64, doubt bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range slices.Backward(o.left) {
		if !meet(l.path, l.tag, v.Path, v.Tag) {
			continue
		}
		if !doubt || l.revision < since {
			since = l.revision
		}
		doubt = true
		if covers(l.path, l.tag, v.Path, v.Tag) {
			break // it had the view then, whatever had ended before
		}
	}
	return since, doubt
}

// Overtake says that the value at p is about to be sent, in front of what is queued. Older events at
// that place give way to views, or clients that keep the value would show it, then an older
// one, and then the value again.
func Overtake(o *Outbox, p tree.Path) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.replaceEvents(func(v *View) bool { return v.Tag == 0 && p.Contains(v.Path) })
}
