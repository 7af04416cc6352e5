package limit

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// One share takes a half, the next a quarter, and refusals say which bound it was.
func TestSharesOfBytes(t *testing.T) {
	m := NewMeter(120)
	refused := make(map[error]int)
	one, two, three := m.Share(100), m.Share(100), m.Share(10)
	one.Refused = func(err error) { refused[err]++ }
	for range 200 {
		one.Try(1)
	}
	for range 200 {
		two.Try(1)
	}
	if one.Used() != 60 || two.Used() != 30 || m.Used() != 90 || refused[ErrShare] != 140 {
		t.Errorf("shares have %d and %d of %d, and one was refused %v", one.Used(), two.Used(), m.Used(), refused)
	}
	if three.Try(11) != ErrShare || three.Try(10) != nil {
		t.Error("a share has another bound than it was given")
	}
	if err := m.All().Try(21); err != ErrFull {
		t.Errorf("more than is left: %v, want %v", err, ErrFull)
	}
	one.Release(60)
	if two.Try(10) != nil || m.Used() != 50 {
		t.Error("what was given back cannot be taken")
	}
	two.Release(40)
	three.Release(10)
	if m.Used() != 0 {
		t.Errorf("%d is left", m.Used())
	}
}

// Most is what a share can have, at once or in steps, when nothing else is used.
func TestMost(t *testing.T) {
	for _, max := range []int64{1, 2, 3, 7, 100} {
		for _, share := range []int64{1, 3, 50, Unbounded} {
			s := NewMeter(max).Share(share)
			if most := s.Most(); s.Try(most) != nil || s.Try(1) == nil {
				t.Errorf("a share of %d of %d cannot have its %d, or has more", share, max, most)
			}
		}
	}
	if err := NewMeter(10).Share(3).Acquire(t.Context(), 4); err != ErrTooLarge {
		t.Errorf("Acquire of more than there will ever be: %v, want %v", err, ErrTooLarge)
	}
}

// What waits gets in as soon as it fits, and one that gives up lets those behind it in.
func TestAcquireWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMeter(100)
		all, s := m.All(), m.All()
		all.Try(90)
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan string, 2)
		acquire := func(name string, ctx context.Context, n int64) {
			go func() {
				if s.Acquire(ctx, n) != nil {
					name += " gave up"
				}
				results <- name
			}()
			synctest.Wait()
		}
		acquire("large", ctx, 50)
		acquire("small", t.Context(), 10)
		if len(results) != 0 {
			t.Fatalf("%s did not wait behind the first of its share", <-results)
		}
		cancel()
		got := []string{<-results, <-results}
		slices.Sort(got)
		if want := []string{"large gave up", "small"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		all.Release(90)
		if s.Used() != 10 || m.Used() != 10 {
			t.Errorf("%d and %d are held, want 10", s.Used(), m.Used())
		}
	})
}

// One that must not block is told once when there is room, or never if it does not care.
func TestAwait(t *testing.T) {
	m := NewMeter(10)
	s, other := m.Share(Unbounded), m.All()
	told := 0
	w, gone := Waiter{Ready: func() { told++ }}, Waiter{Ready: func() { t.Error("told one that has gone") }}
	if !s.Await(&w) {
		t.Fatal("no room in an empty meter")
	}
	s.Force(12)
	if s.Await(&w) || s.Await(&gone) {
		t.Fatal("room in a full meter")
	}
	s.Forget(&gone)
	other.Force(1)
	other.Release(1)
	if told != 0 {
		t.Error("told while there is no room")
	}
	s.Release(8)
	s.Release(1)
	if told != 1 {
		t.Errorf("told %d times, want once", told)
	}
}

// A hold is of one user: what it has is part of the share.
func TestHold(t *testing.T) {
	s := NewMeter(100).Share(Unbounded)
	h := Hold{Of: s}
	if n := h.Missing(80); n != 50 {
		t.Errorf("%d are missing to 80 of a share that can have 50, want 50", n)
	}
	if err := h.Grow(40); err != nil || h.Size() != 40 || s.Used() != 40 {
		t.Errorf("holds %d of %d: %v", h.Size(), s.Used(), err)
	}
	if err := h.Grow(20); !errors.Is(err, ErrShare) || h.Size() != 40 {
		t.Errorf("holds %d: %v, want %v", h.Size(), err, ErrShare)
	}
	for _, n := range []int64{70, 10} {
		if h.Settle(n); s.Used() != n || h.Size() != n {
			t.Errorf("holds %d of %d, want %d", h.Size(), s.Used(), n)
		}
	}
	h.End()
	h.End()
	if s.Used() != 0 {
		t.Errorf("%d are left", s.Used())
	}
}

// Whatever is tried and released, the sum is that of the shares, and no share that is
// refused could have had what it asked for.
func TestMeterModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		max := rapid.Int64Range(1, 50).Draw(t, "max")
		m := NewMeter(max)
		shares := []*Share{m.All(), m.Share(Unbounded), m.Share(7), m.Share(Unbounded)}
		held := make([]int64, len(shares))
		var sum int64
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, len(shares)-1).Draw(t, "share")
			n := rapid.Int64Range(1, 20).Draw(t, "n")
			if rapid.Bool().Draw(t, "release") {
				n = min(n, held[i])
				shares[i].Release(n)
				held[i], sum = held[i]-n, sum-n
				continue
			}
			fits := sum+n <= max && (i == 0 || held[i]+n <= max-sum-n+1 && (i != 2 || held[i]+n <= 7))
			if err := shares[i].Try(n); (err == nil) != fits {
				t.Fatalf("share %d has %d, all have %d of %d: %d more: %v", i, held[i], sum, max, n, err)
			}
			if fits {
				held[i], sum = held[i]+n, sum+n
			}
			if m.Used() != sum {
				t.Fatalf("%d are used, want %d", m.Used(), sum)
			}
		}
	})
}
