package limit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// acquired returns how many places a share can have now.
func acquired(s *Share) (n int) {
	for s.Try(1) == nil {
		n++
	}
	return n
}

// One share has a half, and there is something left for the next ones.
func TestPlacesAreShared(t *testing.T) {
	places := NewMeter(8)
	var got []int
	for range 5 {
		got = append(got, acquired(places.Share(Unbounded)))
	}
	if want := []int{4, 2, 1, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("shares have %v places, want %v", got, want)
	}
	if n := acquired(NewMeter(8).All()); n != 8 {
		t.Errorf("who has no bound has %d places, want 8", n)
	}
}

// Shares take turns, however many of each wait, and of each the first comes first.
func TestSharesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := NewMeter(1)
		greedy, good, last := places.Share(Unbounded), places.Share(Unbounded), places.Share(Unbounded)
		greedy.Try(1)
		var mu sync.Mutex
		var order []string
		enter := func(name string, p *Share) {
			go func() {
				if err := p.Acquire(t.Context(), 1); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				p.Release(1)
			}()
			synctest.Wait()
		}
		for _, name := range []string{"greedy 1", "greedy 2", "greedy 3"} {
			enter(name, greedy)
		}
		enter("good 1", good)
		enter("good 2", good)
		enter("last 1", last)
		if len(order) != 0 {
			t.Fatalf("%v entered where there was no place", order)
		}
		greedy.Release(1)
		synctest.Wait()
		want := []string{"greedy 1", "good 1", "last 1", "greedy 2", "good 2", "greedy 3"}
		if !slices.Equal(order, want) {
			t.Errorf("the order was %v, want %v", order, want)
		}
		wantFree(t, places, 1)
	})
}

// wantFree checks that so many places are free and no share waits.
func wantFree(t *testing.T, places *Meter, want int) {
	t.Helper()
	if free := int(places.Max() - places.Used()); free != want || places.queue.Len() != 0 {
		t.Errorf("%d places are free and %d shares wait, want %d and 0", free, places.queue.Len(), want)
	}
}

// A caller that gives up is not waited for.
func TestAcquireIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := NewMeter(1)
		busy, p := places.All(), places.Share(Unbounded)
		busy.Try(1)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { failed <- p.Acquire(ctx, 1) }()
		synctest.Wait()
		entered := make(chan error, 1)
		go func() { entered <- p.Acquire(t.Context(), 1) }()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("Enter = %v, want %v", err, context.Canceled)
		}
		busy.Release(1)
		if err := <-entered; err != nil {
			t.Error(err)
		}
		p.Release(1)
		wantFree(t, places, 1)
	})
}

// Places are neither lost nor found where shares acquire, release and give up at once.
func TestPlacesAreNotLost(t *testing.T) {
	places := NewMeter(3)
	shares := []*Share{places.Share(Unbounded), places.Share(Unbounded), places.Share(Unbounded), places.Share(Unbounded), places.All()}
	var all sync.WaitGroup
	for i := range 20 {
		p := shares[i%len(shares)]
		all.Go(func() {
			for range 500 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 0 {
					go cancel()
				}
				if p.Acquire(ctx, 1) == nil {
					p.Release(1)
				}
				cancel()
			}
		})
	}
	all.Wait()
	wantFree(t, places, 3)
}
