// Package outbox queues what is sent to one client, in a bounded amount of memory. A message
// is there as bytes, or is made when it is its turn. Events give way to the whole view of a
// listener when the client does not keep up. The package knows no database: what has to be
// read is a function to call.
package outbox

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/internal/fifo"
	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/sync/resume"
	"github.com/dogwooddb/dogwood/tree"
)

// A Format is the form in which an Outbox hands out what is sent.
type Format int

// The formats.
const (
	Realtime    Format = iota // JSON messages of the realtime protocol
	EventStream               // blocks of an event stream (REST §10)
)

// DefaultBytes bounds what waits for one client.
const DefaultBytes = 1 << 20

// ErrSlow is why an Outbox closes whose client does not read.
var ErrSlow = errors.New("the client does not read")

// An Outbox is the ordered queue of what goes to one client. It is bounded in
// bytes. When events beyond the bound come in, all events that wait are dropped,
// and the first of each listener is replaced by that listener's whole
// view, which is made when it is sent. So a client that reads slowly sees fewer
// states, but never a wrong order, and costs no more than the bound.
type Outbox struct {
	// The fields that an event of a client that keeps up needs come first: with thousands of
	// clients they are in no cache.
	mu     sync.Mutex // callers may hold locks; with it, only those of what is counted are taken
	items  itemQueue
	bytes  int
	max    int
	notify func()
	format Format
	closed bool
	shut   atomic.Bool // closing is set
	copies atomic.Bool // see Copies
	held   int64       // of the allowance, by what the last Take returned
	waits  waiting

	mark      func() []byte // see Mark; nil: none
	allowance *Allowance    // nil: none
	room      sync.Cond     // bytes went down, or closed
	closing   error
	waiter    limit.Waiter // for memory of the allowance
	memory    Memory       // nil: without a bound
	making    int64        // of memory, by the item whose messages are made
	attempt   attempt      // at the item whose messages are made
	giveUp    func()       // ends the wait for a place; nil: there is none

	taken   uint64        // items so far
	left    []leftView    // whose clients may have something else than they say
	resting []restingView // that may have to be sent again
	leaving bool          // the client is, so these are not needed any more
}

// An item is one thing to send: a message, an event for a listener, or a
// listener's whole view.
type item struct {
	message []byte
	make    func() [][]byte // messages that are made when they are sent
	view    *View           // that it is about; nil: none
	event   *Event          // nil with a view: all of it
	size    int32
	counted bool // of what the allowance has for slow clients
	brief   bool // make can be tried in a place of brief reads
	dropped bool // it is an event of a view that had ended when it was taken
}

// A View is a listener as its Outbox sees it. It gets no events before its Outbox resumes
// it.
type View struct {
	Path   tree.Path
	Tag    int64           // of the realtime protocol; 0: none
	Whole  func() [][]byte // makes the messages that bring all of it
	Counts *Counts
	Marks  *resume.Marks // of an event stream; nil: its events have no ids
	Notice *Notice       // what its client is told in place of events; nil: events

	ended    atomic.Bool
	live     bool // it is sent events; guarded by the outbox's mu, as are the next three
	told     bool // it was live, and nothing of it was left out since its end
	answered bool // its first messages were made
	pushed   bool // they brought all of it

	Children bool // of an event stream: it selects children, so a leaf is shown as null
}

// Ended reports whether the view has ended.
func (v *View) Ended() bool { return v.ended.Load() }

// Counts are how often clients did not keep up.
type Counts struct {
	Overflows atomic.Uint64 // of outboxes
	Resyncs   atomic.Uint64 // views that are sent again
	Slow      atomic.Uint64 // clients given up
}

// sizeOf returns a size for an item, in which a word less counts: a queue has many.
func sizeOf(bytes int) int32 { return int32(min(bytes, math.MaxInt32-itemOverhead)) }

// itemOverhead is what an item counts for beside its bytes.
const itemOverhead = 64

// isReady reports whether an item can be sent without waiting or a large copy.
func (it *item) isReady() bool {
	return it.make == nil && it.size <= itemOverhead+maxReady && !(it.isNotice() && it.view.Notice.whole)
}

// New makes an Outbox that holds about maxBytes, 0 for
// DefaultBytes. notify is called, from any goroutine, when the outbox is
// no longer empty; it must not block or call back.
func New(format Format, maxBytes int, notify func()) *Outbox {
	if maxBytes <= 0 {
		maxBytes = DefaultBytes
	}
	o := &Outbox{format: format, max: maxBytes, notify: notify}
	o.room.L = &o.mu
	return o
}

// Mark has the client sent what f returns, if it is not nil, each time that it has been given all
// that waited. f is called with a lock held, so it must not wait. nil ends it: when Mark returns,
// the former f is not called any more.
func (o *Outbox) Mark(f func() []byte) {
	o.mu.Lock()
	o.mark = f
	o.mu.Unlock()
}

// marked returns what a mark is now, nil for nothing. mu is held, and nothing waits. A client that is
// to be disconnected gets none: something may have been left out because of that.
func marked(o *Outbox) []byte {
	if o.mark == nil || o.closed || o.closing != nil {
		return nil
	}
	return o.mark()
}

// PushFrame queues a message that is ready to be sent.
func (o *Outbox) PushFrame(msg []byte) { o.push(item{message: msg, size: sizeOf(len(msg))}) }

// PushLater queues messages that are made when it is their turn, so that large
// ones do not wait in memory. size is what f itself keeps there.
func (o *Outbox) PushLater(size int, f func() [][]byte) { o.push(item{make: f, size: sizeOf(size)}) }

// PushRead is PushLater for messages whose making reads one value. It is tried as a brief read
// first: f asks Attempt, and calls PutOff if that is not enough.
func (o *Outbox) PushRead(size int, f func() [][]byte) {
	o.push(item{make: f, size: sizeOf(size), brief: true})
}

func (o *Outbox) push(it item) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return
	}
	wasEmpty := o.items.Len() == 0
	o.append(it)
	o.mu.Unlock()
	if wasEmpty {
		o.notify()
	}
}

func (o *Outbox) append(it item) {
	it.size += itemOverhead
	o.bytes += int(it.size)
	if o.lags() {
		o.count(&it)
	}
	o.items.Push(it)
}

// PushView queues the whole view of a listener that was just attached. Until it
// is sent the listener gets no events: the view will contain them.
func (o *Outbox) PushView(v *View, size int, f func() [][]byte) {
	o.push(item{view: v, make: f, size: sizeOf(size)})
}

// PushEvent queues an event for a listener.
func (o *Outbox) PushEvent(v *View, e *Event) {
	o.mu.Lock()
	if o.closed || !v.live {
		o.mu.Unlock()
		return
	}
	wasEmpty := o.items.Len() == 0
	if v.Notice != nil {
		note(o, v, e)
	} else {
		o.append(item{view: v, event: e, size: sizeOf(e.size)})
	}
	if o.bytes > o.max && o.items.Len() > 1 {
		o.overflow(v.Counts)
	}
	full := o.bytes > KeptUp && o.waits.full
	wakes := wasEmpty && o.items.Len() > 0
	o.mu.Unlock()
	if full {
		o.allowance.relieve() // before the event can be taken
	}
	if wakes {
		o.notify()
	}
}

// PushWhole queues all of a view behind all that waits. Until it is sent, the
// view gets no events: it will contain them.
func (o *Outbox) PushWhole(v *View) {
	o.mu.Lock()
	if o.closed || !v.live {
		o.mu.Unlock()
		return
	}
	wasEmpty := o.items.Len() == 0
	if all := v.whole(); v.Notice == nil {
		o.append(all)
	} else {
		v.Notice.whole = true
		queueNotice(o, v)
	}
	wakes := wasEmpty && o.items.Len() > 0
	o.mu.Unlock()
	if wakes {
		o.notify()
	}
}

// whole is the item that brings all of a view, which gets no events until that is made.
func (v *View) whole() item {
	v.live = false
	v.Counts.Resyncs.Add(1)
	return item{view: v, make: v.Whole}
}

// Resume lets events through to a view that is about to be made, and
// sent before what is queued. Clients keep one tree for all listens without a
// tag, so what is queued for those below is now older than what the view brings
// there, and gives way to views, too. What is queued for those above does no
// harm: it ends with the state of the view, or the view is sent again (leaveOut).
func (o *Outbox) Resume(v *View) {
	o.mu.Lock()
	v.live, v.told = true, v.Notice == nil // of what a notice tells, the client keeps nothing
	if v.told && v.Tag == 0 && o.format == Realtime {
		o.replaceEvents(func(other *View) bool {
			return other.Tag == 0 && other != v && v.Path.Contains(other.Path)
		})
	}
	if v.told {
		rest(o, v)
	}
	o.mu.Unlock()
}

// Take removes messages from the queue and returns them ready to be sent, about
// max bytes or, if it is longer, one; also if there is no more memory for what waits. It
// returns nothing if there is nothing.
// Only one goroutine may call it, or TakeReady, at a time; that it calls says
// that what it was given before has been sent.
func (o *Outbox) Take(max int) (msgs [][]byte) {
	if o.sent() {
		max = 1
	}
	for size := 0; size < max; {
		it, ok := o.pop()
		if !ok {
			break
		}
		before := len(msgs)
		if msgs, ok = o.appendMessages(msgs, it); !ok {
			o.back(it)
			break
		}
		for _, msg := range msgs[before:] {
			size += len(msg)
		}
	}
	return msgs
}

// maxReady is the size of the largest message that TakeReady takes.
const maxReady = 16 << 10

// TakeReady is Take for who serves many clients and must not wait for one. It
// appends to dst what is there as bytes, or is quickly encoded, and stops before
// what has to be read or is large. more tells that something is left in the
// queue; if nothing was appended, it is for Take.
func (o *Outbox) TakeReady(dst [][]byte, max int) (msgs [][]byte, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held > 0 {
		return dst, true // Take gives it back
	}
	for size := 0; size < max && o.items.Len() > 0 && o.items.Front().isReady(); {
		it := next(o)
		o.waits.uncount(&it, o.allowance)
		if msg := o.message(&it); len(msg) > 0 {
			dst = append(dst, msg)
			size += len(msg)
		}
	}
	if o.waits.held > 0 || o.waits.grace {
		o.settle()
		if o.items.Len() == 0 {
			o.waits.endGrace(o.allowance)
		}
	}
	if !o.isHeldBack() { // maybe since an item came for which there was room
		o.room.Broadcast()
	}
	if o.items.Len() > 0 {
		return dst, true
	}
	o.resting = nil
	if msg := marked(o); msg != nil {
		dst = append(dst, msg)
	}
	return dst, false
}

// TakeRest is TakeReady for an outbox that is about to be closed. As a call of Take does, it says
// that everything that was taken before has been sent.
func TakeRest(o *Outbox, max int) [][]byte {
	o.sent()
	msgs, _ := o.TakeReady(nil, max)
	return msgs
}

func (o *Outbox) pop() (item, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.items.Len() == 0 {
		o.resting = nil // all that they rest on was taken
		msg := marked(o)
		return item{message: msg}, msg != nil
	}
	it := next(o)
	o.waits.take(&it)
	o.room.Broadcast()
	return it, true
}

// next removes the first item. mu is held.
func next(o *Outbox) item {
	it := o.items.Pop()
	o.bytes -= int(it.size)
	o.taken++
	if len(o.resting) > 0 {
		forgetRested(o)
	}
	switch v := it.view; {
	case v == nil:
	case v.Ended():
		it.dropped = true
		leaveOut(o, v)
	case it.isNotice():
		v.Notice.take(&it, o.format)
	}
	return it
}

// appendMessages appends what an item is sent as. ok is false if there is no
// room for it now.
func (o *Outbox) appendMessages(dst [][]byte, it item) (msgs [][]byte, ok bool) {
	if it.make == nil && !isOwn(o, &it) {
		if msg := o.message(&it); len(msg) > 0 {
			dst = append(dst, msg)
		}
		return dst, true
	}
	if it.make == nil {
		it = later(o, it)
	}
	made, ok := o.made(it)
	for _, msg := range made {
		if len(msg) > 0 {
			dst = append(dst, msg)
		}
	}
	return dst, ok
}

// message returns what a message or an event is sent as, which may be nothing.
func (o *Outbox) message(it *item) []byte {
	switch {
	case it.event == nil:
		return it.message
	case it.dropped:
		return nil
	case o.format == EventStream:
		return it.event.Block(it.view)
	}
	return it.event.Push(it.view.Tag)
}

// Wait waits until there is room. Who produces replies calls it between
// requests, so that a client that does not read its replies is not read from.
func (o *Outbox) Wait(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return fifo.Wait(ctx, &o.room, func() bool { return !o.isHeldBack() || o.closed })
}

// Closing returns an error when the client should be disconnected after what
// is queued has been sent.
func (o *Outbox) Closing() error {
	if !o.shut.Load() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closing
}

// Shut asks the transport to disconnect the client.
func (o *Outbox) Shut(reason error) {
	o.mu.Lock()
	if o.closing == nil {
		o.closing = reason
		o.shut.Store(true)
	}
	o.mu.Unlock()
	o.notify()
}

// Format returns the form in which the outbox hands out what is sent.
func (o *Outbox) Format() Format { return o.format }

// Backlog returns what waits in an outbox for its client.
func (o *Outbox) Backlog() (messages, bytes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.items.Len(), o.bytes
}

// Close drops what is queued and ignores what comes.
func (o *Outbox) Close() {
	o.mu.Lock()
	o.closed = true
	o.items.Keep(func(it *item) bool {
		o.waits.uncount(it, o.allowance)
		return false
	})
	o.items.emptied()
	o.items, o.bytes = itemQueue{}, 0
	o.leaving, o.left, o.resting = true, nil, nil
	o.room.Broadcast()
	if o.giveUp != nil {
		o.giveUp()
	}
	o.mu.Unlock()
	if o.allowance != nil {
		o.allowance.memory.Forget(&o.waiter)
	}
	o.sent()
}
