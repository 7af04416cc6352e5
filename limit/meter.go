// Package limit bounds what the clients of a server use together: bytes of memory, counts,
// or places among those who do something at a time.
//
// A [Meter] has a maximum. Its users hold parts of it through a [Share], such as the one of
// a client address. A bounded share may hold as much as is left for all others together: one
// that takes all it can gets a half, the next a quarter, and something is always left for
// one that has nothing yet. With a maximum of n and parts of 1, a meter is a fair semaphore.
//
// # Waiting
//
// [Share.Try] never waits. [Share.Acquire] waits until the part fits or its context ends;
// shares that wait take turns, and within a share the first comes first. [Share.Await] is
// for callers that must not block: it has a function called when there is room again.
package limit

import (
	"container/list"
	"errors"
	"math"
	"sync"
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
type Meter struct {
	max int64

	mu      sync.Mutex
	used    int64
	queue   list.List            // of *Share that have waiters, the next one in front
	waiters map[*Waiter]struct{} // that Await left
}

// NewMeter returns a meter of which nothing is used.
func NewMeter(max int64) *Meter {
	return &Meter{max: max, waiters: make(map[*Waiter]struct{})}
}

// Max returns the maximum.
func (m *Meter) Max() int64 { return m.max }

// Used returns how much all shares hold.
func (m *Meter) Used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// All returns a share that may hold all there is.
func (m *Meter) All() *Share { return &Share{meter: m, max: m.max} }

// Share returns a bounded share of at most max.
func (m *Meter) Share(max int64) *Share {
	return &Share{meter: m, max: min(max, m.max), bounded: true}
}

// maxPassed bounds how many shares admit passes over because what they wait for does not
// fit. Of a semaphore only those cannot get in that hold a place, which are few.
const maxPassed = 64

// admit lets in those who wait and fit now, one of each share in turn. mu is held.
func (m *Meter) admit() {
	passed := 0
	for e := m.queue.Front(); e != nil && passed < maxPassed && m.used < m.max; {
		s := e.Value.(*Share)
		first := s.waiting.Front()
		a := first.Value.(*acquiring)
		if s.refusal(a.n) != nil {
			e = e.Next()
			passed++
			continue
		}
		s.add(a.n)
		s.waiting.Remove(first)
		close(a.done)
		m.queue.Remove(e)
		s.place = nil
		if s.waiting.Len() > 0 {
			s.place = m.queue.PushBack(s)
		}
		e = m.queue.Front()
	}
}

// ready returns the functions of those who wait for room and have it now. mu is held.
func (m *Meter) ready() (list []func()) {
	for w := range m.waiters {
		if w.share.hasRoom() {
			list = append(list, w.Ready)
			delete(m.waiters, w)
		}
	}
	return list
}
