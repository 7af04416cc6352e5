package limit

import (
	"container/list"
	"context"
	"math"
)

// A Share is what some users, such as the requests of one address, hold of a Meter. Its
// methods can be called concurrently. Its fields are guarded by the mu of the meter, since
// whether one share fits depends on what all others hold: a lock for each share would have
// to be taken together with that of the meter every time.
type Share struct {
	Refused func(error) // is told of refusals of Try; nil: nothing is

	meter   *Meter
	max     int64
	bounded bool

	// These are guarded by the meter's mu.
	used   int64
	*waits        // nil: nothing waits
	time   *usage // nil: the meter is not timed
}

// The waits of a share are apart from it: a server has many shares, and few of them have waits.
type waits struct {
	waiting   list.List            // of *waiter, the first in front
	queued    slot                 // in the meter's queue, while one waits
	acquiring slot                 // in the meter's line, at the same time
	waiters   map[*Waiter]struct{} // that Await left
	awaiting  slot                 // in the meter's idle, while there are waiters
}

func newShare(m *Meter, max int64, bounded bool) *Share {
	s := &Share{meter: m, max: max, bounded: bounded}
	if m.timed {
		s.time = new(usage)
	}
	return s
}

// expect makes s one for which something can wait. mu is held.
func (s *Share) expect() {
	if s.waits == nil {
		nowhere := slot{share: s, at: out}
		s.waits = &waits{queued: nowhere, acquiring: nowhere, awaiting: nowhere}
	}
}

// waiter is a call of Acquire that waits.
type waiter struct {
	n    int64
	done chan struct{} // closed when it holds n
}

// isQueued reports whether s is in the meter's queue. mu is held.
func (s *Share) isQueued() bool { return s.waits != nil && s.queued.at != out }

// first returns the waiter that is next, of at least one. mu is held.
func (s *Share) first() *waiter { return s.waiting.Front().Value.(*waiter) }

// Meter returns what s is a share of.
func (s *Share) Meter() *Meter { return s.meter }

// Used returns how much s holds.
func (s *Share) Used() int64 {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	return s.used
}

// Most returns the most that s can hold when nothing else is used.
func (s *Share) Most() int64 {
	if !s.bounded || s.meter.max == Unbounded {
		return s.max
	}
	return min(s.max, (s.meter.max+1)/2)
}

// refusal says which bound keeps s from holding n more, nil if none does. mu is held.
func (s *Share) refusal(n int64) error {
	switch free := s.meter.max - s.meter.used; {
	case s.bounded && n > s.max-s.used:
		return ErrShare
	case n > free:
		return ErrFull
	case s.bounded && s.used+n > free-n+1:
		return ErrShare
	}
	return nil
}

// Exceeds reports whether s would hold more than it may with n more, which are taken by Force.
func (s *Share) Exceeds(n int64) bool {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	free := s.meter.max - s.meter.used - n
	return free < 0 || s.bounded && (s.used+n > s.max || s.used+n > free+1)
}

// need returns how much has to be free for refusal to allow n more. mu is held.
func (s *Share) need(n int64) int64 {
	switch {
	case !s.bounded:
		return n
	case n > s.max-s.used || n > (math.MaxInt64-s.used)/2:
		return math.MaxInt64
	}
	return max(n, s.used+2*n-1)
}

// add makes s hold n more. mu is held.
func (s *Share) add(n int64) {
	if s.meter.timed {
		s.charge(n)
	}
	s.used += n
	s.meter.used += n
	s.update()
}

// update puts s where it belongs among the shares that wait, after what it holds or waits
// for has changed. mu is held.
func (s *Share) update() {
	if s.waits == nil {
		return
	}
	m := s.meter
	if s.isQueued() {
		due := s.due()
		m.queue.put(&s.queued, 0, due)
		m.line.put(&s.acquiring, s.need(s.first().n), due)
	} else {
		m.line.remove(&s.acquiring)
	}
	if len(s.waiters) > 0 {
		m.idle.put(&s.awaiting, s.need(1), 0)
	} else {
		m.idle.remove(&s.awaiting)
	}
	if !s.isQueued() && len(s.waiters) == 0 {
		s.waits = nil
	}
}

// enter puts s into the queue, behind those that are due at the same time. mu is held.
func (s *Share) enter() {
	m := s.meter
	m.turns++
	s.queued.turn, s.acquiring.turn = m.turns, m.turns
	m.queue.put(&s.queued, 0, s.due())
}

// exit takes s out of the queue. mu is held.
func (s *Share) exit() {
	m := s.meter
	if s.queued.at == 0 {
		m.passed = 0
	}
	m.queue.remove(&s.queued)
}

// getIn makes s hold what its first waiter waits for. The next one waits for another turn of
// s. mu is held.
func (s *Share) getIn() {
	a, m := s.first(), s.meter
	m.now = max(m.now, s.start())
	s.exit()
	s.waiting.Remove(s.waiting.Front())
	if s.waiting.Len() > 0 {
		s.enter()
	}
	s.add(a.n)
	close(a.done)
}

// Try makes s hold n more if there is room. Otherwise it changes nothing, and the error is
// ErrFull or ErrShare. What is held must be released.
func (s *Share) Try(n int64) error {
	return s.take(n, false)
}

// take is Try. A holder, which has something of s already, does not wait for others that may
// wait for it.
func (s *Share) take(n int64, holder bool) error {
	err := s.try(n, holder)
	if err != nil && s.Refused != nil {
		s.Refused(err)
	}
	return err
}

func (s *Share) try(n int64, holder bool) error {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	return s.overtake(n, holder)
}

// overtake makes s hold n more, before those that wait. mu is held.
func (s *Share) overtake(n int64, holder bool) error {
	if err := s.refusal(n); err != nil {
		return err
	}
	if m := s.meter; len(m.queue) > 0 {
		if !holder && m.reserved() {
			return ErrFull
		}
		m.passed += n
	}
	s.begin()
	s.add(n)
	return nil
}

// Force makes s hold n more whether or not there is room.
func (s *Share) Force(n int64) {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	s.add(n)
}

// Acquire waits until s can hold n more, and makes it. It fails with the error of ctx, which
// ended first, or with ErrTooLarge.
func (s *Share) Acquire(ctx context.Context, n int64) error {
	if n > s.Most() {
		return ErrTooLarge
	}
	a, at := s.join(n)
	if a == nil {
		return nil
	}
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		s.giveUp(a, at)
		return ctx.Err()
	}
}

// join makes s hold n more, or waits in line: then a is not nil.
func (s *Share) join(n int64) (a *waiter, at *list.Element) {
	m := s.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	if !s.isQueued() && s.overtake(n, false) == nil {
		return nil, nil
	}
	s.begin()
	s.expect()
	a = &waiter{n: n, done: make(chan struct{})}
	at = s.waiting.PushBack(a)
	if !s.isQueued() {
		s.enter()
		s.update()
	}
	return a, at
}

// giveUp leaves the line, or gives back what was acquired just now.
func (s *Share) giveUp(a *waiter, at *list.Element) {
	m := s.meter
	m.mu.Lock()
	select {
	case <-a.done:
		m.mu.Unlock()
		s.Release(a.n)
		return
	default:
	}
	defer m.mu.Unlock()
	if at == s.waiting.Front() && s.queued.at == 0 {
		m.passed = 0
	}
	s.waiting.Remove(at)
	if s.waiting.Len() == 0 {
		s.exit()
	}
	s.update()
	m.admit() // the next one of the share may be smaller
}

// Release gives back n of what s holds, which lets waiters in. Functions of Await run on the
// caller's goroutine, after the lock was released.
func (s *Share) Release(n int64) {
	m := s.meter
	m.mu.Lock()
	s.add(-n)
	m.admit()
	ready := m.ready()
	m.mu.Unlock()
	for _, f := range ready {
		f()
	}
}

// Do runs f while s holds 1 more. The error is that of f, or that of ctx, which ended before
// there was room.
func (s *Share) Do(ctx context.Context, f func() error) error {
	if err := s.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.Release(1)
	return f()
}

// Yield runs f, which waits for something, while s holds 1 less: others can use that
// meanwhile, among them those that f waits for.
func (s *Share) Yield(f func() error) error {
	s.Release(1)
	defer s.Acquire(context.Background(), 1) // which does not end
	return f()
}

// A Waiter waits for room without blocking.
type Waiter struct {
	Ready func() // called once there is room, by the goroutine that made it, without locks
}

// hasRoom reports whether s could hold something more of an unknown size. mu is
// held.
func (s *Share) hasRoom() bool {
	m := s.meter
	return m.used < m.max && (!s.bounded || s.used < s.max && s.used <= m.max-m.used)
}

// Await reports whether there is room in s for something whose size is not known before it
// is there, and then held with Force. If there is none, w is told when there is.
func (s *Share) Await(w *Waiter) bool {
	m := s.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.hasRoom() {
		return true
	}
	s.expect()
	if s.waiters == nil {
		s.waiters = make(map[*Waiter]struct{})
	}
	s.waiters[w] = struct{}{}
	s.update()
	return false
}

// Forget ends what Await began.
func (s *Share) Forget(w *Waiter) {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	if s.waits != nil {
		delete(s.waiters, w)
		s.update()
	}
}
