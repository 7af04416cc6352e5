package limit

import (
	"container/list"
	"context"
)

// A Share is what some users may hold of a Meter.
type Share struct {
	Refused func(error) // is told of refusals of Try; nil: nothing is

	meter   *Meter
	max     int64
	bounded bool

	// These are guarded by the meter's mu.
	used    int64
	waiting list.List     // of *acquiring, the first in front
	place   *list.Element // in the meter's queue; nil: none waits
}

// acquiring is a call of Acquire that waits.
type acquiring struct {
	n    int64
	done chan struct{} // closed when it holds n
}

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

// add makes s hold n more. mu is held.
func (s *Share) add(n int64) {
	s.used += n
	s.meter.used += n
}

// Try makes s hold n more if there is room. Otherwise it changes nothing, and the error is
// ErrFull or ErrShare. What is held must be released.
func (s *Share) Try(n int64) error {
	err := s.try(n)
	if err != nil && s.Refused != nil {
		s.Refused(err)
	}
	return err
}

func (s *Share) try(n int64) error {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	err := s.refusal(n)
	if err == nil {
		s.add(n)
	}
	return err
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
func (s *Share) join(n int64) (a *acquiring, at *list.Element) {
	m := s.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.place == nil && s.refusal(n) == nil {
		s.add(n)
		return nil, nil
	}
	if s.place == nil {
		s.place = m.queue.PushBack(s)
	}
	a = &acquiring{n: n, done: make(chan struct{})}
	return a, s.waiting.PushBack(a)
}

// giveUp leaves the line, or gives back what was acquired just now.
func (s *Share) giveUp(a *acquiring, at *list.Element) {
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
	s.waiting.Remove(at)
	if s.waiting.Len() == 0 {
		m.queue.Remove(s.place)
		s.place = nil
	}
	m.admit() // the next one of the share may be smaller
}

// Release gives back n of what s holds.
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
	Ready func() // called once there is room, by whoever made it, without locks
	share *Share
}

// hasRoom reports whether s could hold something more of a size that nobody knows yet. mu is
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
	w.share = s
	m.waiters[w] = struct{}{}
	return false
}

// Forget ends what Await began.
func (s *Share) Forget(w *Waiter) {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	delete(s.meter.waiters, w)
}
