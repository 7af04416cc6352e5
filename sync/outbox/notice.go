package outbox

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// Bounds of a notice. Beyond them it says that all may have changed.
const (
	maxNoticeKeys  = 100
	maxNoticeBytes = 4 << 10
)

// NoticeEvery is how long the changes of children are joined in one notice.
const NoticeEvery = 200 * time.Millisecond

// A Notice tells a client which children of a view have changed, in place of events. Changes that
// come while a notice waits, or too soon after the last one, are told by the same one. So a view has one
// at most, and a slow client costs no more than a fast one. The mu of the outbox guards it.
type Notice struct {
	changed  *children // nil: none
	revision uint64
	waits    bool      // in the outbox, or for its time
	whole    bool      // all of the view is to be sent in its place
	next     time.Time // when it may be sent
}

// children are those that may have changed. Notices of the same changes share them, so they are not altered:
// a client may have thousands of listens at one place.
type children struct {
	keys  []string
	bytes int
}

// anyChild are more children than a notice names.
var anyChild = new(children)

// note has an event told by the notice of a view. mu is held.
func note(o *Outbox, v *View, e *Event) {
	n := v.Notice
	n.revision = max(n.revision, e.Revision)
	joined, known := e.joined[n.changed]
	if !known {
		joined = n.changed.and(v.Path, e)
		if e.joined == nil {
			e.joined = make(map[*children]*children)
		}
		e.joined[n.changed] = joined
	}
	if n.changed = joined; joined != nil {
		queueNotice(o, v)
	}
}

// and returns the children together with those that an event changes in the view of a path.
func (c *children) and(p tree.Path, e *Event) *children {
	var both children
	if c != nil {
		both = children{slices.Clip(c.keys), c.bytes}
	}
	had := len(both.keys)
	for _, part := range e.Parts {
		target := tree.Target{Path: p.Rel(e.Path), Priority: part.Target.Priority}
		if e.Merge {
			target.Path = target.Path.Join(part.Target.Path)
		}
		key, _, below := target.Path.Cut()
		switch {
		case !below && target.Priority: // that of the view's own node is not a matter of its children
		case c == anyChild, !below:
			return anyChild
		case slices.Contains(both.keys, key):
		case len(both.keys) == maxNoticeKeys || both.bytes+len(key) > maxNoticeBytes:
			return anyChild
		default:
			both.keys, both.bytes = append(both.keys, strings.Clone(key)), both.bytes+len(key)
		}
	}
	if len(both.keys) == had {
		return c
	}
	return &both
}

// Told says that all listeners were told of the event.
func (e *Event) Told() { e.joined = nil }

// queueNotice queues the notice of a view for when it may be sent, if it does not wait already. mu is held.
func queueNotice(o *Outbox, v *View) {
	n := v.Notice
	if n.waits {
		return
	}
	n.waits = true
	if wait := time.Until(n.next); wait > 0 {
		time.AfterFunc(wait, func() { isDue(o, v) })
		return
	}
	o.append(item{view: v, size: maxNoticeBytes})
}

// isDue queues a notice that has waited for its time.
func isDue(o *Outbox, v *View) {
	o.mu.Lock()
	if o.closed || v.Ended() {
		o.mu.Unlock()
		return
	}
	wasEmpty := o.items.Len() == 0
	o.append(item{view: v, size: maxNoticeBytes})
	if o.bytes > o.max && !wasEmpty {
		o.overflow(v.Counts)
	}
	o.mu.Unlock()
	if wasEmpty {
		o.notify()
	}
}

// isNotice reports whether an item is the notice of its view.
func (it *item) isNotice() bool { return it.view != nil && it.event == nil && it.make == nil }

// shorten has a notice in the queue say that any child may have changed. mu is held.
func shorten(o *Outbox, it *item) {
	o.waits.uncount(it, o.allowance)
	it.view.Notice.changed = anyChild
	*it = item{view: it.view, size: itemOverhead}
}

// take makes the item of a notice, which leaves the queue, what is to be sent: all that has changed until
// now. mu is held.
func (n *Notice) take(it *item, f Format) {
	whole := n.whole
	n.waits, n.whole, n.next = false, false, time.Now().Add(NoticeEvery)
	if whole {
		it.make = it.view.Whole
	} else {
		it.message = it.view.notice(f, n.revision, n.changed)
	}
	n.changed = nil
}

// NoticeOfAll returns what says that any child of a view may have changed up to a revision.
func (v *View) NoticeOfAll(f Format, revision uint64) []byte { return v.notice(f, revision, anyChild) }

func (v *View) notice(f Format, revision uint64, c *children) []byte {
	b := []byte("event: notify\ndata: ")
	if f == Realtime {
		b = wire.AppendPushHead(nil, wire.PushNotice, v.Path.Clean())
	}
	b = append(strconv.AppendUint(append(b, `{"revision":`...), revision, 10), `,"children":[`...)
	for i, key := range c.keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, key)
	}
	b = append(strconv.AppendBool(append(b, `],"all":`...), c == anyChild), '}')
	if f == Realtime {
		return wire.AppendPushSuffix(b, v.Tag)
	}
	return append(b, "\n\n"...)
}
