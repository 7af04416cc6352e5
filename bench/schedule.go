package bench

import (
	"context"
	"sync/atomic"
	"time"
)

// A schedule says when operations are due. Times are offsets from its start.
// Many goroutines may share one.
//
// In an open loop a due time is given to the goroutine that asks next, also if
// it has passed. So a generator that is behind catches up, and the delay is in
// the latencies instead of in a lower rate.
type schedule struct {
	warmup time.Duration // operations due before are not measured
	length time.Duration // of the measured time; 0 has no end
	count  int64         // measured operations; 0 is any number
	every  time.Duration // between operations, at least a nanosecond; 0 is a closed loop

	origin   time.Time
	issued   atomic.Int64
	measured atomic.Int64
}

// DefaultRate makes so many operations due per second, unless the options have a rate.
func (s *schedule) DefaultRate(perSecond int) {
	if s.every == 0 {
		s.every = time.Second / time.Duration(perSecond)
	}
}

func (s *schedule) start() { s.origin = time.Now() }

func (s *schedule) Now() time.Duration { return time.Since(s.origin) }

// Next returns when the next operation is due: in a closed loop now, in an open
// one perhaps in the future, and in the past if we are behind. There is no next
// one when ok is false.
func (s *schedule) Next() (due time.Duration, ok bool) {
	if s.every > 0 {
		due = time.Duration(s.issued.Add(1)-1) * s.every
	} else {
		due = s.Now()
	}
	if s.length > 0 && due >= s.warmup+s.length {
		return 0, false
	}
	if due >= s.warmup && s.count > 0 && s.measured.Add(1) > s.count {
		return 0, false
	}
	return due, true
}

// Wait sleeps until an operation is due. It returns false if ctx ends before.
func (s *schedule) Wait(ctx context.Context, due time.Duration) bool {
	return Sleep(ctx, due-s.Now())
}

// Sleep reports whether ctx has lasted for a time.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// end is when the measured time ends, 0 if it has no end.
func (s *schedule) end() time.Duration {
	if s.length == 0 {
		return 0
	}
	return s.warmup + s.length
}
