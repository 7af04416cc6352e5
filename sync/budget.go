package sync

import (
	"context"
	"sync"
)

// A Budget bounds the bytes of large messages that are in memory for all clients
// together: views and values that were made and not yet sent. One client that
// does not read costs little; a thousand that ask for a large value each and do
// not read would cost all there is. When the budget is used up, large messages
// are made later, when others have been sent or given up.
//
// Some may have their part of it, a share, which is a Budget, too: they can use
// as much as is left for all others together. So one of them gets a half at
// most, and there is always something left for the next.
type Budget struct {
	*pool
	most  int64 // of used; the budget itself has max
	share bool
	used  int64 // guarded by the pool's mu

	// Since what a message needs is not known before, few are made at a time.
	views, values *Party

	decisions *Party // of listens, which are small but may be many
}

// A pool is what a budget and its shares have in common.
type pool struct {
	max int64

	// Turns of making views of listeners, which first wait for the committer and then
	// are read in a turn of values. Values are not kept waiting by anything else.
	views     *Turns
	decisions *Turns

	mu      sync.Mutex
	all     int64 // used by the budget itself and by its shares
	waiting map[*Outbox]*Budget
}

const (
	// smallMessage is what a message may have without being counted.
	smallMessage = 64 << 10
	// maxViews is how many views are made at a time.
	maxViews = 8
)

// NewBudget returns a budget of about max bytes, whose users read values in the turns of
// readers. A single message may exceed it.
func NewBudget(max int64, readers *Party) *Budget {
	p := &pool{max: max, views: NewTurns(maxViews), decisions: NewReadTurns(), waiting: make(map[*Outbox]*Budget)}
	return &Budget{pool: p, most: max, views: p.views.Everybody(), values: readers, decisions: p.decisions.Everybody()}
}

// Share returns a budget for some of the users of b, of at most about max bytes. They
// read values in the turns of readers.
func (b *Budget) Share(max int64, readers *Party) *Budget {
	return &Budget{
		pool:      b.pool,
		most:      min(max, b.max),
		share:     true,
		views:     b.pool.views.Party(),
		values:    readers,
		decisions: b.pool.decisions.Party(),
	}
}

// hasRoom reports whether messages may be made. mu is held.
func (b *Budget) hasRoom() bool {
	return b.all < b.max && (!b.share || b.used < b.most && b.used <= b.max-b.all)
}

// Held returns how many bytes messages hold, those of all shares together.
func (b *Budget) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all
}

// party returns with whom an item of the share takes turns.
func (b *Budget) party(it *item) *Party {
	if it.listener != nil {
		return b.views
	}
	return b.values
}

// enter admits the making of an item's messages for an outbox when it is the turn of
// its share, or remembers to notify it.
func (b *Budget) enter(o *Outbox, it *item) bool {
	party := b.party(it)
	_ = party.Enter(context.Background()) // which does not end
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hasRoom() {
		return true
	}
	b.waiting[o] = b
	party.Leave()
	return false
}

// leave counts the messages that were made of an item, and returns what counts.
func (b *Budget) leave(it *item, msgs [][]byte) int64 {
	defer b.party(it).Leave()
	var size int64
	for _, msg := range msgs {
		size += int64(cap(msg))
	}
	if size <= smallMessage {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all += size
	b.used += size
	return size
}

// release gives back what leave returned and lets those that wait, and have room
// now, try again.
func (b *Budget) release(size int64) {
	if size == 0 {
		return
	}
	for _, o := range b.give(size) {
		o.notify()
	}
}

func (b *Budget) give(size int64) (ready []*Outbox) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all -= size
	b.used -= size
	for o, of := range b.waiting {
		if of.hasRoom() {
			ready = append(ready, o)
			delete(b.waiting, o)
		}
	}
	return ready
}

// forget lets go of an outbox that is closed.
func (b *Budget) forget(o *Outbox) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, o)
}

// Share makes an outbox count its large messages in a budget. It must be called
// before the outbox is used.
func (o *Outbox) Share(b *Budget) { o.budget = b }

// made makes the messages of an item. ok is false if there is no room for them
// now: the outbox is notified when there is.
func (o *Outbox) made(it item) (msgs [][]byte, ok bool) {
	defer o.unhold()
	if o.budget == nil {
		return it.make(), true
	}
	if !o.budget.enter(o, &it) {
		return nil, false
	}
	defer func() {
		size := o.budget.leave(&it, msgs)
		o.mu.Lock()
		o.held += size
		closed := o.closed
		o.mu.Unlock()
		if closed { // meanwhile: nobody will say that it was sent
			o.sent()
		}
	}()
	return it.make(), true
}

// takeTurn waits for the turn of a view that is about to be read, among values. Only
// so many views as are made at a time have an open snapshot while they wait.
func (o *Outbox) takeTurn() (done func()) {
	if o.budget == nil {
		return func() {}
	}
	_ = o.budget.values.Enter(context.Background()) // which does not end
	return o.budget.values.Leave
}

// readers returns with whom the client of the outbox takes turns to read values; nil:
// it has no share.
func (o *Outbox) readers() *Party {
	if o.budget == nil {
		return nil
	}
	return o.budget.values
}

// deciders returns with whom the client of the outbox takes turns to be decided about;
// nil: it has no share.
func (o *Outbox) deciders() *Party {
	if o.budget == nil {
		return nil
	}
	return o.budget.decisions
}

// sent gives back what the messages of the last Take counted for.
func (o *Outbox) sent() {
	if o.budget == nil {
		return
	}
	o.mu.Lock()
	size := o.held
	o.held = 0
	o.mu.Unlock()
	o.budget.release(size)
}

// back puts an item at the front of the queue again.
func (o *Outbox) back(it item) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.items.unpop(it)
	o.bytes += it.size
}
