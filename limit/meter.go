// Package limit bounds what the clients of a server use together: bytes of memory, counts,
// or places for operations that run at the same time.
//
// A [Meter] has a maximum. Its users hold parts of it through a [Share], such as the one of
// a client address. A bounded share may hold as much as is left for all others together: one
// that takes all it can gets a half, the next a quarter, and something is always left for
// one that has nothing yet. With a maximum of n and parts of 1, a meter is a fair semaphore.
//
// # Waiting
//
// [Share.Try] never waits. [Share.Acquire] waits until the part fits or its context ends;
// shares that wait take turns, and within a share the first comes first. A wait that does not
// fit is overtaken by smaller ones, but not for ever: once they have acquired as much as the
// meter has, what is free is kept for it. [Share.Await] is for callers that must not block:
// it has a function called when there is room again.
//
// The turns of [NewPlaces] are measured in time: see there.
package limit

import (
	"errors"
	"math"
	"sync"
	"time"
)

// Refusals. They say which bound has no room now.
var (
	ErrFull     = errors.New("limit: all that there is is in use")
	ErrShare    = errors.New("limit: the share is used up")
	ErrTooLarge = errors.New("limit: more than a share can have") // it will never fit
)

// Unbounded is the maximum of a meter or share that only counts.
const Unbounded = math.MaxInt64

// A Meter bounds the sum of what its shares hold. Its methods can be called concurrently.
//
// Shares that wait are in two orders: by turn, in queue, and by how much has to be free for
// them, in line. The one whose turn it is gets in if it fits. Otherwise the one that needs
// least does, so that large waits do not keep out small ones, however many there are. A
// queue alone needs a bound on the waits that are passed over, behind which a small one
// starves; a heap alone starves the large ones.
type Meter struct {
	max   int64
	timed bool // turns are measured in time

	mu     sync.Mutex
	used   int64
	queue  slots  // of shares that have waiters, the next one on top
	line   slots  // of the same shares; a slot fits if its need is free
	idle   slots  // of shares for which Await left waiters
	turns  uint64 // given to slots, so that equals keep their order
	passed int64  // acquired by others since the first of queue could not get in

	// These are of a timed meter.
	now    time.Duration // virtual: where the share began that got in last
	latest time.Duration // the highest clock of a share
	usual  time.Duration // how long one place is held
}

// NewMeter returns a meter of which nothing is used.
func NewMeter(max int64) *Meter { return &Meter{max: max} }

// Max returns the maximum.
func (m *Meter) Max() int64 { return m.max }

// Used returns how much all shares hold.
func (m *Meter) Used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// All returns a share that may hold all there is.
func (m *Meter) All() *Share { return newShare(m, m.max, false) }

// Share returns a bounded share of at most max.
func (m *Meter) Share(max int64) *Share { return newShare(m, min(max, m.max), true) }

// reserved reports whether what is free is kept for the first in the queue: the others have
// acquired as much as there is while it waited for them. One that waits for its own share
// alone keeps nothing from the others. mu is held.
func (m *Meter) reserved() bool {
	if m.timed || len(m.queue) == 0 || m.passed < m.max {
		return false
	}
	s := m.queue[0].share
	return s.acquiring.need <= m.max-s.used
}

// next returns the share whose first waiter gets in now, nil if none does. mu is held.
func (m *Meter) next() *Share {
	if len(m.queue) == 0 {
		return nil
	}
	if s := m.queue[0].share; s.refusal(s.first().n) == nil {
		return s
	}
	if s := m.line[0].share; !m.reserved() && s.refusal(s.first().n) == nil {
		return s
	}
	return nil
}

// admit lets in the waiters that fit now. Its work is that of those that it lets in, and
// does not grow with the number of the others. mu is held.
func (m *Meter) admit() {
	for s := m.next(); s != nil; s = m.next() {
		if s.queued.at != 0 {
			m.passed += s.first().n
		}
		s.getIn()
	}
}

// ready returns the functions of the Waiters that have room now. mu is held.
func (m *Meter) ready() (list []func()) {
	for len(m.idle) > 0 && m.idle[0].share.hasRoom() {
		s := m.idle[0].share
		for w := range s.waiters {
			list = append(list, w.Ready)
		}
		clear(s.waiters)
		s.update()
	}
	return list
}
