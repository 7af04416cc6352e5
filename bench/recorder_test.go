package bench

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// serve is a server that answers in a millisecond, except that it stalls once
// for ten seconds.
func serve(s *schedule, stalled *bool) {
	if !*stalled && s.Now() >= 5*time.Second {
		*stalled = true
		time.Sleep(10 * time.Second)
	}
	time.Sleep(time.Millisecond)
}

// A server that stalls for half of the time has bad latencies for half of the
// operations that were due. A closed loop does not see that: it asks for
// nothing meanwhile. A rate does.
func TestNoCoordinatedOmission(t *testing.T) {
	for _, c := range []struct {
		name     string
		every    time.Duration
		p50, p99 float64 // milliseconds
	}{
		{"closed loop", 0, 1, 1},
		{"open loop", 10 * time.Millisecond, 501, 9800},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &schedule{every: c.every, length: 20 * time.Second}
				r := newRecorder(s)
				s.start()
				stalled := false
				for due, ok := s.Next(); ok && s.Wait(t.Context(), due); due, ok = s.Next() {
					serve(s, &stalled)
					r.Done(0, due)
				}
				h, _, _ := r.sum()
				got := latencyOf(h)
				if c.every > 0 {
					if h.TotalCount() != 2000 {
						t.Errorf("%d operations, want all 2000 that were due", h.TotalCount())
					}
					if got.P50 < c.p50/2 || got.P99 < c.p99*0.99 || got.P99 > 10_010 {
						t.Errorf("latencies %+v, want a median in the hundreds and p99 near %v", got, c.p99)
					}
					return
				}
				if math.Abs(got.P50-c.p50) > 0.01 || math.Abs(got.P99-c.p99) > 0.01 || got.Max < 10_000 {
					t.Errorf("latencies %+v, want p50 and p99 of 1 and a lone maximum", got)
				}
			})
		})
	}
}

// Only what is due in the measured time has a latency; only what ends in it
// counts for the rate.
func TestRecorderWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &schedule{warmup: time.Second, length: time.Second}
		r := newRecorder(s)
		s.start()
		r.Done(1, 0)
		time.Sleep(1500 * time.Millisecond)
		r.Done(2, 900*time.Millisecond) // due in the warm-up
		r.Done(3, time.Second)
		time.Sleep(time.Second)
		r.Done(4, 1500*time.Millisecond) // late
		h, _, _ := r.sum()
		if h.TotalCount() != 2 || r.inTime.Load() != 1 {
			t.Errorf("%d latencies and %d in time, want 2 and 1", h.TotalCount(), r.inTime.Load())
		}
		if got := latencyOf(h); math.Abs(got.Max-1000) > 1 || math.Abs(got.P50-500) > 1 {
			t.Errorf("latencies %+v, want 500 and 1000", got)
		}
		if last := time.Duration(r.last.Load()); last != 1500*time.Millisecond {
			t.Errorf("the last operation in time ended at %s", last)
		}
	})
}

func TestRecorderFailures(t *testing.T) {
	r := newRecorder(new(schedule))
	for n := range 40 {
		r.failed(n, "denied")
	}
	h, failed, reason := r.sum()
	if h.TotalCount() != 0 || failed != 40 || reason != "denied" {
		t.Errorf("%d done, %d failed with %q, want 0, 40, denied", h.TotalCount(), failed, reason)
	}
}

func TestRecorderDoesNotAllocate(t *testing.T) {
	s := new(schedule)
	s.start()
	r := newRecorder(s)
	if n := testing.AllocsPerRun(100, func() { r.Done(1, s.Now()) }); n != 0 {
		t.Errorf("done allocates %v times", n)
	}
}
