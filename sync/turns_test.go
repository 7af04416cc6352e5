package sync

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// entered returns how many places a party can have now.
func entered(p *Party) (n int) {
	for p.TryEnter() {
		n++
	}
	return n
}

// One party has a half, and there is something left for the next ones.
func TestTurnsAreShared(t *testing.T) {
	turns := NewTurns(8)
	var got []int
	for range 5 {
		got = append(got, entered(turns.Party()))
	}
	if want := []int{4, 2, 1, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("parties have %v places, want %v", got, want)
	}
	if n := entered(NewTurns(8).Everybody()); n != 8 {
		t.Errorf("who has no bound has %d places, want 8", n)
	}
}

// No more is read at a time than there are processors, but by two at least.
func TestReadTurns(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for procs, want := range map[int][2]int{1: {2, 1}, 2: {2, 1}, 4: {4, 2}, 64: {8, 4}} {
		runtime.GOMAXPROCS(procs)
		all, one := entered(NewReadTurns().Everybody()), entered(NewReadTurns().Party())
		if got := [2]int{all, one}; got != want {
			t.Errorf("with %d processors %d places, %d of one party; want %d", procs, all, one, want)
		}
	}
}

// Parties take turns, however many of each wait, and of each the first comes first.
func TestTurnsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		greedy, good, last := turns.Party(), turns.Party(), turns.Party()
		greedy.TryEnter()
		var mu sync.Mutex
		var order []string
		enter := func(name string, p *Party) {
			go func() {
				if err := p.Enter(t.Context()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				p.Leave()
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
		greedy.Leave()
		synctest.Wait()
		want := []string{"greedy 1", "good 1", "last 1", "greedy 2", "good 2", "greedy 3"}
		if !slices.Equal(order, want) {
			t.Errorf("the order was %v, want %v", order, want)
		}
		wantFree(t, turns, 1)
	})
}

// wantFree checks that so many places are free and nobody waits.
func wantFree(t *testing.T, turns *Turns, want int) {
	t.Helper()
	if turns.free != want || turns.line.Len() != 0 {
		t.Errorf("%d places are free and %d parties wait, want %d and 0", turns.free, turns.line.Len(), want)
	}
}

// Who gives up is not waited for.
func TestTurnsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		busy, p := turns.Everybody(), turns.Party()
		busy.TryEnter()
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { failed <- p.Enter(ctx) }()
		synctest.Wait()
		entered := make(chan error, 1)
		go func() { entered <- p.Enter(t.Context()) }()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("Enter = %v, want %v", err, context.Canceled)
		}
		busy.Leave()
		if err := <-entered; err != nil {
			t.Error(err)
		}
		p.Leave()
		wantFree(t, turns, 1)
	})
}

// Places are neither lost nor found where parties enter, leave and give up at once.
func TestTurnsTogether(t *testing.T) {
	turns := NewTurns(3)
	parties := []*Party{turns.Party(), turns.Party(), turns.Party(), turns.Party(), turns.Everybody()}
	var all sync.WaitGroup
	for i := range 20 {
		p := parties[i%len(parties)]
		all.Go(func() {
			for range 500 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 0 {
					go cancel()
				}
				if p.Enter(ctx) == nil {
					p.Leave()
				}
				cancel()
			}
		})
	}
	all.Wait()
	wantFree(t, turns, 3)
}
