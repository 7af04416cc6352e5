package outbox

import (
	"sync"

	"github.com/dogwooddb/dogwood/limit"
)

// Data that waits for slow clients is counted, so that thousands of them take no
// more memory than there is for that. Where the memory of an address, or of all, is used up,
// the outboxes of the address that hold most lose their events to whole views, and a client
// whose replies wait is not read from.
//
// A client that keeps up costs nothing of this: the first KeptUp bytes that wait are not
// counted. They are part of what a connection takes. As long as there is much room, an
// outbox that lags a little takes a grace, which is larger than what waits there, since to
// count each event takes a fifth of the time of a delivery.

const (
	// KeptUp is how many bytes wait for a client that is thought to keep up.
	KeptUp = 4 << 10
	// WaitingPart says which part of the memory of large messages there is, and another one for
	// what waits.
	WaitingPart = 2

	graceBytes  = 32 << 10 // that wait in an outbox with a grace
	graceMemory = 2 * graceBytes
	gracePart   = 4 // of what an address can have, all graces together have one

	itemMemory  = 128     // of an item, in an array that may have twice as many places
	eventMemory = 512     // of an event without its text
	eventTexts  = 2       // its text, and what it is made of
	waitingStep = 8 << 10 // in which an outbox counts what it alone holds
)

// memory returns what an event takes: the nodes that it was made of, and its text.
func (e *Event) memory() int64 { return eventMemory + eventTexts*int64(e.size) }

// own returns what an item takes that no other outbox shares.
func (it *item) own() int64 {
	if it.event != nil {
		return itemMemory
	}
	return itemMemory + int64(it.size)
}

// A waiting is what an outbox has counted. It is guarded by the outbox's mu.
type waiting struct {
	held  int64 // of the allowance, for own and sent; a little more than these
	grace bool  // held and another one for the items that do not count
	full  bool  // there was no room for the last item

	events int64    // of the events in the queue, some of which others share
	own    int64    // of everything else in the queue
	sent   int64    // of what the last Take returned, without the events
	taken  []*Event // of those that count, which the last Take returned
	counts *Counts
}

// lags reports whether what comes into the queue is to be counted.
func (o *Outbox) lags() bool {
	if o.bytes <= KeptUp || o.allowance == nil {
		return false
	}
	w := &o.waits
	if w.held == 0 && !w.grace {
		w.grace = o.allowance.takeGrace()
	}
	return !w.grace || o.bytes > graceBytes
}

// count counts an item that comes into the queue.
func (o *Outbox) count(it *item) {
	it.counted = true
	room := true
	if it.event != nil {
		o.waits.events += it.event.memory()
		o.waits.counts = it.view.Counts
		room = it.event.retain(o.allowance)
	}
	o.waits.own += it.own()
	room = o.settle() && room
	o.waits.full = !room
}

// uncount ends what count began, for an item that leaves the queue.
func (w *waiting) uncount(it *item, a *Allowance) {
	if !it.counted {
		return
	}
	it.counted = false
	w.own -= it.own()
	if it.event != nil {
		w.events -= it.event.memory()
		it.event.release(a)
	}
}

// take has an item that leaves the queue count until it is sent.
func (w *waiting) take(it *item) {
	if !it.counted {
		return
	}
	w.own -= it.own()
	w.sent += it.own()
	if it.event != nil {
		w.events -= it.event.memory()
		w.taken = append(w.taken, it.event)
	}
}

// untake ends what take began, for the item that was taken last and goes back to the queue.
func (w *waiting) untake(it *item) {
	if !it.counted {
		return
	}
	w.own += it.own()
	w.sent -= it.own()
	if it.event != nil {
		w.events += it.event.memory()
		w.taken = w.taken[:len(w.taken)-1]
	}
}

// endGrace gives the grace back.
func (w *waiting) endGrace(a *Allowance) {
	if w.grace {
		w.grace = false
		a.giveGrace()
	}
}

// forget forgets what the last Take returned.
func (w *waiting) forget(a *Allowance) {
	for i, e := range w.taken {
		e.release(a)
		w.taken[i] = nil
	}
	if w.taken = w.taken[:0]; cap(w.taken) > keptItems {
		w.taken = nil
	}
	w.sent = 0
}

// settle makes the allowance hold what is counted, in steps. It reports whether there was
// room.
func (o *Outbox) settle() (room bool) {
	if o.allowance == nil {
		return true
	}
	w := &o.waits
	need := (w.own + w.sent + waitingStep - 1) / waitingStep * waitingStep
	switch {
	case need > w.held:
		room = o.allowance.claim(need - w.held)
		if w.held == 0 {
			o.allowance.slow.add(o)
		}
		w.held = need
		return room
	case w.held == 0:
	case need == 0:
		o.allowance.slow.remove(o)
		w.full = false
		fallthrough
	case w.held-need > waitingStep:
		o.allowance.waiting.Release(w.held - need)
		w.held = need
	}
	return true
}

// Unsent counts n bytes of what TakeReady returned that could not be sent at once, until
// the next Take.
func (o *Outbox) Unsent(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.allowance != nil && !o.closed {
		o.waits.sent += int64(n)
		o.settle()
	}
}

// overflow drops the waiting events and replaces the first of each view with all of it.
func (o *Outbox) overflow(c *Counts) {
	c.Overflows.Add(1)
	o.replaceEvents(func(*View) bool { return true })
	if o.bytes > 4*o.max && o.closing == nil {
		c.Slow.Add(1)
		o.closing = ErrSlow
		o.shut.Store(true)
	}
}

// replaceEvents drops the waiting events of some views and replaces the first
// of each with all of it.
func (o *Outbox) replaceEvents(of func(*View) bool) {
	o.bytes = 0
	o.items.Keep(func(it *item) bool {
		if v := it.view; it.event != nil && of(v) {
			o.waits.uncount(it, o.allowance)
			if !v.live {
				return false
			}
			*it = v.whole()
			it.size = itemOverhead
		} else if it.isNotice() && of(v) {
			shorten(o, it)
		}
		o.bytes += int(it.size)
		return true
	})
	o.settle()
}

// isHeldBack reports whether the client is not to be read from.
func (o *Outbox) isHeldBack() bool {
	return o.bytes > o.max || o.bytes > KeptUp && o.waits.full
}

// lost returns what the allowance gets back at most if the events of the queue give way.
func (o *Outbox) lost() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waits.events
}

// giveWay makes the events of the queue give way if they take at least so much.
func (o *Outbox) giveWay(least int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w := &o.waits; w.events > 0 && w.events >= least {
		o.overflow(w.counts)
		w.full = false
	}
}

// claim takes n of the memory for what waits, whether or not there is room, and reports
// whether there was.
func (a *Allowance) claim(n int64) (room bool) {
	if a.waiting.Try(n) == nil {
		return true
	}
	a.waiting.Force(n)
	return false
}

// takeGrace takes a grace if there is much room.
func (a *Allowance) takeGrace() bool {
	if a.graces.Add(graceMemory) <= a.waiting.Most()/gracePart && a.waiting.Try(graceMemory) == nil {
		return true
	}
	a.graces.Add(-graceMemory)
	return false
}

func (a *Allowance) giveGrace() {
	a.graces.Add(-graceMemory)
	a.waiting.Release(graceMemory)
}

// Waiting returns how many bytes wait for clients that do not keep up.
func (a *Allowance) Waiting() int64 { return a.waiting.Meter().Used() }

// relievePart is the part of all outboxes that find no room before relieve looks at all again,
// if it was of no use.
const relievePart = 8

// relieve makes the outboxes give way that hold half the average of all or more. So what
// they hold is at least halved, and those that hold little keep it. Where replies take the room, which
// do not give way, it looks at all of them only now and then: it is called for each event.
func (a *Allowance) relieve() {
	if n := a.pressed.Add(1); n > 1 && n <= int64(a.slow.len()/relievePart) {
		return
	}
	a.pressed.Store(0)
	defer func() {
		if a.waiting.Used() >= a.waiting.Most() {
			a.pressed.Store(1)
		}
	}()
	var sum int64
	list := a.slow.list()
	for _, o := range list {
		sum += o.lost()
	}
	for _, o := range list {
		o.giveWay(sum / int64(2*len(list)))
	}
}

// slowOutboxes are the outboxes of an allowance that have counted something.
type slowOutboxes struct {
	mu  sync.Mutex
	all map[*Outbox]struct{}
}

func (s *slowOutboxes) add(o *Outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[*Outbox]struct{})
	}
	s.all[o] = struct{}{}
}

func (s *slowOutboxes) remove(o *Outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, o)
}

func (s *slowOutboxes) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

func (s *slowOutboxes) list() []*Outbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Outbox, 0, len(s.all))
	for o := range s.all {
		list = append(list, o)
	}
	return list
}

// holders are the outboxes that count an event, by allowance. One of these pays for the
// event, so that it counts once however many clients wait for it.
type holders struct {
	mu     sync.Mutex
	payer  *Allowance // nil: it is not held
	n      int        // outboxes of the payer
	others map[*Allowance]int
}

// retain counts an event for an outbox with an allowance. It reports whether there was
// room.
func (e *Event) retain(a *Allowance) (room bool) {
	h := &e.holders
	h.mu.Lock()
	defer h.mu.Unlock()
	switch h.payer {
	case a:
		h.n++
		return true
	case nil:
		h.payer, h.n = a, 1
		return a.claim(e.memory())
	}
	if h.others == nil {
		h.others = make(map[*Allowance]int)
	}
	h.others[a]++
	return true
}

// release ends what retain began. If the payer holds the event no longer, another holder
// pays.
func (e *Event) release(a *Allowance) {
	h := &e.holders
	h.mu.Lock()
	defer h.mu.Unlock()
	if a != h.payer {
		if h.others[a]--; h.others[a] == 0 {
			delete(h.others, a)
		}
		return
	}
	if h.n--; h.n > 0 {
		return
	}
	h.payer = nil
	for next, n := range h.others {
		h.payer, h.n = next, n
		delete(h.others, next)
		next.waiting.Force(e.memory())
		break
	}
	a.waiting.Release(e.memory())
}

// newWaiting returns the share of what waits that all clients have, of an allowance of max
// bytes.
func newWaiting(max int64) *limit.Share { return limit.NewMeter(max / WaitingPart).All() }
