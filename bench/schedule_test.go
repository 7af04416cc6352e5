package bench

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestScheduleClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &schedule{warmup: time.Second, length: 2 * time.Second}
		s.start()
		for _, want := range []time.Duration{0, 700 * time.Millisecond, 1400 * time.Millisecond, 2100 * time.Millisecond, 2800 * time.Millisecond} {
			if due, ok := s.Next(); !ok || due != want {
				t.Errorf("next() = %s, %v, want %s", due, ok, want)
			}
			time.Sleep(700 * time.Millisecond)
		}
		if due, ok := s.Next(); ok {
			t.Errorf("next() = %s after the end at 3s", due)
		}
		if got := s.measured.Load(); got != 0 {
			t.Errorf("measured = %d without a count to keep", got)
		}
	})
}

func TestScheduleOpenLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &schedule{every: 10 * time.Millisecond, length: 50 * time.Millisecond}
		s.start()
		for i := range 5 {
			due, ok := s.Next()
			if want := time.Duration(i) * 10 * time.Millisecond; !ok || due != want {
				t.Fatalf("operation %d is due at %s, %v, want %s", i, due, ok, want)
			}
			if !s.Wait(t.Context(), due) || s.Now() < due {
				t.Errorf("operation %d: at %s, which is before %s", i, s.Now(), due)
			}
			if i == 2 {
				time.Sleep(time.Second) // the next ones are late and not waited for
			}
		}
		if s.Now() != 1020*time.Millisecond {
			t.Errorf("the last operation began at %s, want 1.02s", s.Now())
		}
		if due, ok := s.Next(); ok {
			t.Errorf("next() = %s, after the end", due)
		}
	})
}

// A count is of measured operations, however many goroutines share it.
func TestScheduleCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &schedule{warmup: time.Second, count: 100}
		s.start()
		for range 7 {
			if _, ok := s.Next(); !ok {
				t.Fatal("the warm-up ended by itself")
			}
		}
		time.Sleep(time.Second)
		var mu sync.Mutex
		var wg sync.WaitGroup
		got := 0
		for range 8 {
			wg.Go(func() {
				for _, ok := s.Next(); ok; _, ok = s.Next() {
					mu.Lock()
					got++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if got != 100 {
			t.Errorf("%d operations, want 100", got)
		}
	})
}

func TestScheduleWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(schedule)
		s.start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if s.Wait(ctx, time.Hour) || s.Now() != time.Second {
			t.Errorf("waited until %s, want 1s and false", s.Now())
		}
		if s.Wait(ctx, 0) {
			t.Error("wait() = true after ctx ended")
		}
	})
}
