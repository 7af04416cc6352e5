package outbox

import (
	"context"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/internal/processors"
	"github.com/dogwooddb/dogwood/limit"
)

// MaxReads is the most values that are read and made into answers at a time.
const MaxReads = 8

// LongText is the length in bytes from which a text is parsed in a place of the readers.
const LongText = 4 << 10

// NewReaders returns the places of what takes long: reading values and making answers of
// them, parsing long texts, and deciding large writes. Each keeps a processor busy until it
// is done: more at a time than there are processors are not sooner done, but a small read
// then waits some 50 ms for its slice of time. Two is the least that can be shared.
func NewReaders() *limit.Meter {
	return limit.NewPlaces(int64(min(max(processors.Count(), 2), MaxReads)))
}

// An Allowance is what a client may use of what all clients share: the memory of large
// messages that were made and not yet sent, and places to make them. A client that does not
// read costs little; a thousand that ask for a large value each and do not read would cost
// all there is. When the memory is used up, large messages are made later, when others have
// been sent or given up.
type Allowance struct {
	memory *limit.Share // in bytes; a single message may exceed it

	waiting *limit.Share // bytes that wait for clients which do not keep up
	graces  atomic.Int64 // bytes of it
	slow    slowOutboxes
	pressed atomic.Int64 // events without room since relieve; from 1 on if that was of no use

	// The size of a message is known only after it was made, so few are made at a time. A
	// view waits for the committer first and is then read in a place of values. Values do
	// not wait for anything else.
	views, values *limit.Share

	// Reads are tried in a place of these first, so brief ones do not wait for long ones.
	briefs *limit.Share

	decisions *limit.Share // of listens, which are small but may be many
}

const (
	// smallMessage is what a message may have without being counted.
	smallMessage = 8 << 10
	// MaxViews is how many views are made at a time.
	MaxViews = 8
)

// NewAllowance returns what all clients share: about max bytes of large messages, half as
// much of what waits for those that do not keep up, and the given places of readers.
func NewAllowance(max int64, readers *limit.Share) *Allowance {
	return &Allowance{
		memory:    limit.NewMeter(max).All(),
		waiting:   newWaiting(max),
		views:     limit.NewPlaces(MaxViews).All(),
		briefs:    NewReaders().All(),
		values:    readers,
		decisions: NewReaders().All(),
	}
}

// Share returns the allowance of some clients: a share of each part, at most about max
// bytes of large messages and half as much of what waits, and the given places of readers.
func (a *Allowance) Share(max int64, readers *limit.Share) *Allowance {
	return &Allowance{
		memory:    a.memory.Meter().Share(max),
		waiting:   a.waiting.Meter().Share(max / WaitingPart),
		views:     a.views.Meter().Share(limit.Unbounded),
		briefs:    a.briefs.Meter().Share(limit.Unbounded),
		values:    readers,
		decisions: a.decisions.Meter().Share(limit.Unbounded),
	}
}

// Held returns how many bytes the messages of all clients hold.
func (a *Allowance) Held() int64 { return a.memory.Meter().Used() }

// places returns where an item waits for its turn.
func (a *Allowance) places(it *item) *limit.Share {
	if it.view != nil {
		return a.views
	}
	return a.values
}

// Briefs returns the places in which reads are tried, as long as they are brief.
func (a *Allowance) Briefs() *limit.Share { return a.briefs }

// enter admits the making of messages for an outbox when there is a place, or has the outbox
// notified once there is memory.
func (a *Allowance) enter(o *Outbox, places *limit.Share) bool {
	if !o.acquire(places) {
		return false
	}
	if a.memory.Await(&o.waiter) {
		return true
	}
	places.Release(1)
	return false
}

// leave counts the messages that were made in a place, and returns what counts.
func (a *Allowance) leave(places *limit.Share, msgs [][]byte) int64 {
	defer places.Release(1)
	var size int64
	for _, msg := range msgs {
		size += int64(cap(msg))
	}
	if size <= smallMessage {
		return 0
	}
	a.memory.Force(size)
	return size
}

// Share makes an outbox use an allowance. It must be called before the outbox is used.
func (o *Outbox) Share(a *Allowance) {
	o.allowance = a
	o.waiter.Ready = o.notify
}

// Copies says that what Take returns is copied before it is sent, as it is for long polls. So what
// outboxes share otherwise counts for this one.
func Copies(o *Outbox, yes bool) { o.copies.Store(yes) }

// isOwn reports whether an event is sent as a large text that other outboxes do not share. The
// event is counted for all of them once, so such a text counts in addition, and there are only as
// many at a time as there is memory for.
func isOwn(o *Outbox, it *item) bool {
	if it.event == nil || it.size <= itemOverhead+maxReady || o.format != Realtime || it.view.Ended() {
		return false
	}
	return o.copies.Load() || !it.event.hasPush(it.view.Tag)
}

// later is an event as an item whose message is made in its turn.
func later(o *Outbox, it item) item {
	return item{view: it.view, make: func() [][]byte { return [][]byte{o.message(&it)} }}
}

// made makes the messages of an item. ok is false if there is no room for them
// now: the outbox is notified when there is.
func (o *Outbox) made(it item) (msgs [][]byte, ok bool) {
	defer o.unhold()
	if o.allowance == nil {
		return it.make(), true
	}
	if !it.brief {
		return o.madeIn(o.allowance.places(&it), &it, whole)
	}
	msgs, ok = o.madeIn(o.allowance.briefs, &it, brief)
	if ok && o.attempt == again {
		msgs, ok = o.madeIn(o.allowance.values, &it, again)
	}
	return msgs, ok
}

// An attempt says how the messages of an item are made.
type attempt int8

const (
	whole attempt = iota
	brief         // if that does not take long
	again         // after it took long
)

// Attempt reports whether what is read now has to be brief, and whether it was tried before.
func (o *Outbox) Attempt() (isBrief, isAgain bool) { return o.attempt == brief, o.attempt == again }

// PutOff says that an attempt that had to be brief takes long. The messages are made again.
func (o *Outbox) PutOff() { o.attempt = again }

// madeIn makes the messages of an item in a place. ok is as for made.
func (o *Outbox) madeIn(places *limit.Share, it *item, how attempt) (msgs [][]byte, ok bool) {
	if !o.allowance.enter(o, places) {
		return nil, false
	}
	defer func() {
		size := o.allowance.leave(places, msgs)
		o.mu.Lock()
		o.held += size
		closed := o.closed
		o.mu.Unlock()
		if closed { // meanwhile: nobody will say that it was sent
			o.sent()
		}
	}()
	o.attempt = how
	return it.make(), true
}

// acquire waits for a place, and reports whether there is one. There is none for an outbox
// that is closed: nothing needs to be made for a client that has gone.
func (o *Outbox) acquire(places *limit.Share) bool {
	if places.Try(1) != nil && !o.wait(places) {
		return false
	}
	o.mu.Lock()
	closed := o.closed
	o.mu.Unlock()
	if closed {
		places.Release(1)
	}
	return !closed
}

// wait waits for a place until the outbox is closed.
func (o *Outbox) wait(places *limit.Share) bool {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return false
	}
	o.giveUp = cancel
	o.mu.Unlock()
	err := places.Acquire(ctx, 1)
	o.mu.Lock()
	o.giveUp = nil
	o.mu.Unlock()
	return err == nil
}

// TakeTurn waits for the turn of a view that is about to be read, among values. Only
// so many views as are made at a time have an open snapshot while they wait. A turn for a
// brief read is among brief reads. It is not ok if the outbox is closed.
func (o *Outbox) TakeTurn(brief bool) (done func(), ok bool) {
	if o.allowance == nil {
		return func() {}, true
	}
	places := o.allowance.values
	if brief {
		places = o.allowance.briefs
	}
	return func() { places.Release(1) }, o.acquire(places)
}

// Readers returns with whom the client of the outbox takes turns to read values; nil:
// it has no share.
func (o *Outbox) Readers() *limit.Share {
	if o.allowance == nil {
		return nil
	}
	return o.allowance.values
}

// Deciders returns with whom the client of the outbox takes turns to be decided about;
// nil: it has no share.
func (o *Outbox) Deciders() *limit.Share {
	if o.allowance == nil {
		return nil
	}
	return o.allowance.decisions
}

// sent gives back what the messages of the last Take counted for. full tells that there is
// no room for more of what waits.
func (o *Outbox) sent() (full bool) {
	if o.allowance == nil {
		return false
	}
	o.mu.Lock()
	size := o.held
	o.held = 0
	o.waits.forget(o.allowance)
	o.settle()
	if o.items.Len() == 0 {
		o.waits.endGrace(o.allowance)
	}
	full = o.waits.full
	o.mu.Unlock()
	if size > 0 {
		o.allowance.memory.Release(size)
	}
	return full
}

// back puts an item at the front of the queue again.
func (o *Outbox) back(it item) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.waits.untake(&it)
	o.taken--
	o.items.PushFront(it)
	o.bytes += int(it.size)
}

// A Memory is what the writes of a session take their memory from, so that all of them
// together keep to a bound.
type Memory interface {
	// Reserve takes n bytes and may wait for them. sync.ErrTooBig says
	// that there are never so many, sync.ErrBusy that there are not now.
	Reserve(ctx context.Context, n int64) error
	// Release gives back what was reserved. It must not block.
	Release(n int64)
	// Most returns how many bytes there are at most, for everything that one takes.
	Most() int64
}

// making is how many times the size of a value is taken until a message has been made
// of it: of the realtime protocol, both are there; of an event stream, also the value in
// its plain form.
func (f Format) making() int64 {
	if f == EventStream {
		return 3
	}
	return 2
}

// TakeFrom makes an outbox take the memory for values that it reads from m, until they
// are messages. It must be called before the outbox is used.
func (o *Outbox) TakeFrom(m Memory) { o.memory = m }

// Hold is asked before the messages of an item take much memory. Only who makes them
// calls it.
func (o *Outbox) Hold(total int64) error {
	if o.memory == nil {
		return nil
	}
	need := o.format.making() * total
	more := need - o.making
	switch {
	case more <= 0:
		return nil
	case need > o.memory.Most():
		more = need // is refused; the rest of it would be waited for in vain
	}
	if err := o.memory.Reserve(context.Background(), more); err != nil {
		return err
	}
	o.making += more
	return nil
}

// unhold gives back what hold took for an item.
func (o *Outbox) unhold() {
	if o.making > 0 {
		o.memory.Release(o.making)
		o.making = 0
	}
}
