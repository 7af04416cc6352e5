package limit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// useAgain holds places of a share for a time each, again and again, from some goroutines.
func useAgain(ctx context.Context, s *Share, goroutines int, each time.Duration) {
	for range goroutines {
		go func() {
			for ctx.Err() == nil && s.Acquire(ctx, 1) == nil {
				time.Sleep(each)
				s.Release(1)
			}
		}()
	}
}

// waited holds a place of s for a time, and returns how long it waited for that.
func waited(t *testing.T, s *Share, each time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	if err := s.Acquire(t.Context(), 1); err != nil {
		t.Error(err)
	}
	took := time.Since(began)
	time.Sleep(each)
	s.Release(1)
	return took
}

// However many shares hold places for long, one that holds them for a short time waits until
// the next place is given back, and not for a turn of each of the others.
func TestShortWorkDoesNotWaitForTurns(t *testing.T) {
	const long, short = 80 * time.Millisecond, 100 * time.Microsecond
	for _, attackers := range []int{1, 2, 3, 20, 200} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			places := NewPlaces(2)
			by := places.Share(Unbounded)
			waited(t, by, short)
			for range attackers {
				useAgain(ctx, places.Share(Unbounded), 4, long)
			}
			time.Sleep(time.Duration(attackers) * long) // each of them has held a place
			for i := range 200 {
				time.Sleep(7 * time.Millisecond)
				if took := waited(t, by, short); took > long {
					t.Errorf("with %d others, operation %d waited for %v", attackers, i, took)
				}
			}
			cancel()
			time.Sleep(time.Second)
			wantFree(t, places, 2)
		})
	}
}

// Shares that hold places for equally long get as many.
func TestTimeIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		places := NewPlaces(1)
		works := []time.Duration{time.Millisecond, 2 * time.Millisecond, 40 * time.Millisecond}
		var shares []*Share
		for i, each := range works {
			s := places.Share(Unbounded)
			shares = append(shares, s)
			useAgain(ctx, s, i+2, each)
		}
		at := func() (clocks []time.Duration) {
			synctest.Wait()
			places.mu.Lock()
			defer places.mu.Unlock()
			for _, s := range shares {
				clocks = append(clocks, s.time.clock)
			}
			return clocks
		}
		time.Sleep(10 * time.Second) // the clocks of the first places count for less
		before := at()
		time.Sleep(30 * time.Second)
		for i, clock := range at() {
			if got := clock - before[i]; got < 9*time.Second || got > 11*time.Second {
				t.Errorf("of 30 s, the share whose work takes %v had %v", works[i], got)
			}
		}
		cancel()
		time.Sleep(time.Second)
	})
}

// A share that has used much gets in although new shares come all the time.
func TestNewSharesDoNotStarveOthers(t *testing.T) {
	const long = 80 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		places := NewPlaces(1)
		old := places.Share(Unbounded)
		useAgain(ctx, places.Share(Unbounded), 2, long)
		for range 5 {
			waited(t, old, long)
		}
		go func() { // as many as there is time for
			for ctx.Err() == nil {
				go func() {
					s := places.Share(Unbounded)
					if s.Acquire(ctx, 1) == nil {
						time.Sleep(long)
						s.Release(1)
					}
				}()
				time.Sleep(long)
			}
		}()
		time.Sleep(time.Second)
		for i := range 10 {
			if took := waited(t, old, long); took > 10*time.Second {
				t.Errorf("operation %d waited for %v", i, took)
			}
		}
		cancel()
		time.Sleep(time.Second)
	})
}

// Time that was used while none waited is forgotten.
func TestUnusedTimeCountsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := NewPlaces(1)
		busy, other := places.Share(Unbounded), places.Share(Unbounded)
		for range 3600 {
			waited(t, busy, time.Second)
		}
		waited(t, other, time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		useAgain(ctx, other, 2, time.Second)
		synctest.Wait()
		if took := waited(t, busy, time.Second); took > 3*time.Second {
			t.Errorf("after an hour alone it waited for %v", took)
		}
		cancel()
		time.Sleep(time.Minute)
	})
}
