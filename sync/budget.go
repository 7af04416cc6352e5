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
	most   int64 // of used; the budget itself has max
	share  bool
	making *Party // since what a message needs is not known before, few are made at a time
	used   int64  // guarded by the pool's mu
}

// A pool is what a budget and its shares have in common.
type pool struct {
	max   int64
	turns *Turns // of making messages

	mu      sync.Mutex
	all     int64 // used by the budget itself and by its shares
	waiting map[*Outbox]*Budget
}

const (
	// smallMessage is what a message may have without being counted.
	smallMessage = 64 << 10
	// maxMaking is how many messages are made at a time.
	maxMaking = 8
)

// NewBudget returns a budget of about max bytes. A single message may exceed it.
func NewBudget(max int64) *Budget {
	turns := NewTurns(maxMaking)
	return &Budget{
		pool:   &pool{max: max, turns: turns, waiting: make(map[*Outbox]*Budget)},
		most:   max,
		making: turns.Everybody(),
	}
}

// Share returns a budget for some of the users of b, of at most about max bytes.
func (b *Budget) Share(max int64) *Budget {
	return &Budget{pool: b.pool, most: min(max, b.max), share: true, making: b.turns.Party()}
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

// enter admits the making of messages for an outbox when it is the turn of its
// share, or remembers to notify it.
func (b *Budget) enter(o *Outbox) bool {
	_ = b.making.Enter(context.Background()) // which does not end
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hasRoom() {
		return true
	}
	b.waiting[o] = b
	b.making.Leave()
	return false
}

// leave counts what was made, and returns what counts.
func (b *Budget) leave(msgs [][]byte) int64 {
	defer b.making.Leave()
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
	if o.budget == nil {
		return it.make(), true
	}
	if !o.budget.enter(o) {
		return nil, false
	}
	defer func() {
		size := o.budget.leave(msgs)
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
