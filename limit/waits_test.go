package limit

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// waiting starts Acquire and returns a channel that has a value when it is done.
func waiting(ctx context.Context, s *Share, n int64) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.Acquire(ctx, n) }()
	synctest.Wait()
	return done
}

// A small wait gets in when it fits, however many large ones came before it.
func TestSmallWaitBehindLargeOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := NewMeter(1000)
		all := m.All()
		all.Try(900)
		for range 1000 {
			waiting(ctx, m.Share(Unbounded), 400)
		}
		own := m.Share(Unbounded) // which waits for itself: it does not fit before it gives back
		own.Force(50)
		waiting(ctx, own, 475)
		small := waiting(ctx, m.Share(Unbounded), 30)
		if len(small) != 0 {
			t.Fatal("the small one did not wait")
		}
		all.Release(20)
		synctest.Wait()
		if len(small) != 1 {
			t.Errorf("%d are free and one waits for 30", m.Max()-m.Used())
		}
		cancel()
		synctest.Wait()
		if m.queue.Len() != 0 || len(m.line) != 0 {
			t.Errorf("%d shares wait, and %d are in line, after all gave up", m.queue.Len(), len(m.line))
		}
	})
}

// A large wait is overtaken by as much as the meter has, and then gets in before the small
// ones, whether these wait or not.
func TestLargeWaitIsNotStarved(t *testing.T) {
	for _, way := range []string{"Acquire", "Try"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := NewMeter(100)
				small := []*Share{m.Share(Unbounded), m.Share(Unbounded), m.Share(Unbounded)}
				for _, s := range small {
					s.Try(20)
				}
				large := waiting(t.Context(), m.Share(Unbounded), 50)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				turns := 0
				for ; len(large) == 0 && turns < 20; turns++ {
					s := small[turns%len(small)]
					s.Release(20)
					if way == "Try" {
						s.Try(20)
					} else {
						waiting(ctx, s, 20)
					}
					synctest.Wait()
				}
				if len(large) == 0 || turns < 5 {
					t.Errorf("after %d turns of the small ones, the large one got in: %v", turns, len(large) == 1)
				}
			})
		})
	}
}

// One that waits for what its own share holds keeps nothing from the others.
func TestNothingIsReservedForAFullShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m := NewMeter(100)
		greedy, other := m.Share(Unbounded), m.Share(Unbounded)
		greedy.Try(50)
		waiting(ctx, greedy, 10)
		for range 100 {
			if other.Try(10) != nil {
				t.Fatal("refused, for one that cannot get in")
			}
			other.Release(10)
		}
	})
}

// One that holds a part of what it needs gets the rest before what waits for it to end.
func TestHoldersDoNotWaitForWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m := NewMeter(100)
		h := Hold{Of: m.All()}
		h.Grow(60)
		waiting(ctx, m.Share(Unbounded), 50)
		for range 10 {
			m.All().Try(10)
			m.All().Release(10)
		}
		if err := m.All().Try(10); err != ErrFull {
			t.Errorf("overtaking for ever: %v, want %v", err, ErrFull)
		}
		if err := h.Grow(10); err != nil {
			t.Errorf("what was begun cannot go on: %v", err)
		}
	})
}

// After each step, every waiter that fits is in, save those that a reservation keeps back,
// and each share admits its waiters in the order in which they came.
func TestWaitsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) { waitsModel(rt) })
	})
}

// modelWait is one call of Acquire, and what ends it.
type modelWait struct {
	share, n int
	done     <-chan error
	cancel   context.CancelFunc
}

func waitsModel(t *rapid.T) {
	m := NewMeter(rapid.Int64Range(1, 40).Draw(t, "max"))
	shares := []*Share{m.All(), m.Share(Unbounded), m.Share(7), m.Share(Unbounded), m.Share(Unbounded)}
	held := make([][]int, len(shares)) // parts of each share
	var waits []modelWait
	settle := func() {
		synctest.Wait()
		blocked := make(map[int]bool)
		waits = slices.DeleteFunc(waits, func(w modelWait) bool {
			if len(w.done) == 0 {
				blocked[w.share] = true
				return false
			}
			if <-w.done != nil {
				return true
			}
			if blocked[w.share] {
				t.Fatalf("share %d let in one that came later", w.share)
			}
			held[w.share] = append(held[w.share], w.n)
			return true
		})
		checkWaits(t, m, shares)
	}
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		i := rapid.IntRange(0, len(shares)-1).Draw(t, "share")
		switch k := rapid.IntRange(0, 5).Draw(t, "what"); {
		case k < 2 && len(held[i]) > 0:
			shares[i].Release(int64(held[i][0]))
			held[i] = held[i][1:]
		case k == 2 && len(waits) > 0:
			waits[rapid.IntRange(0, len(waits)-1).Draw(t, "which")].cancel()
		default:
			n := rapid.IntRange(1, 20).Draw(t, "n")
			if int64(n) > shares[i].Most() {
				continue
			}
			ctx, cancel := context.WithCancel(context.Background())
			waits = append(waits, modelWait{i, n, waiting(ctx, shares[i], int64(n)), cancel})
		}
		settle()
	}
	for len(waits) > 0 { // releases alone let all in
		for i, parts := range held {
			for _, n := range parts {
				shares[i].Release(int64(n))
			}
			held[i] = nil
		}
		before := len(waits)
		if settle(); len(waits) == before {
			t.Fatalf("%d wait for an empty meter", before)
		}
	}
}

// checkWaits checks that none waits that could get in, and that the orders agree.
func checkWaits(t *rapid.T, m *Meter, shares []*Share) {
	var used int64
	count := 0
	for i, s := range shares {
		used += s.used
		if !s.isQueued() {
			continue
		}
		count++
		if s.refusal(s.first().n) == nil && !m.reserved() {
			t.Fatalf("share %d waits for %d, which fits", i, s.first().n)
		}
		if fits := s.acquiring.need <= m.max-m.used; fits != (s.refusal(s.first().n) == nil) {
			t.Fatalf("share %d waits for %d and needs %d of %d", i, s.first().n, s.acquiring.need, m.max-m.used)
		}
	}
	if used != m.used || count != m.queue.Len() || count != len(m.line) {
		t.Fatal(fmt.Sprint("used ", used, m.used, " waiting ", count, m.queue.Len(), len(m.line)))
	}
}

// BenchmarkRelease shows that what a release costs does not grow with what waits.
func BenchmarkRelease(b *testing.B) {
	for _, n := range []int{0, 100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := NewMeter(1000)
			all := m.All()
			all.Try(900)
			for range n {
				m.Share(Unbounded).join(400)
			}
			one := m.Share(Unbounded)
			for b.Loop() {
				one.Force(1)
				one.Release(1)
			}
		})
	}
}
