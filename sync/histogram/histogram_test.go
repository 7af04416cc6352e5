package histogram

import (
	"math"
	"sync"
	"testing"
	"time"
)

func TestQuantiles(t *testing.T) {
	for _, test := range []struct {
		name   string
		values []time.Duration
		part   float64
		want   float64
	}{
		{"nothing", nil, 0.99, 0},
		{"one value is in the middle of its bucket", []time.Duration{2 * time.Millisecond}, 0.5, 0.00175},
		{"a bound belongs to the bucket below it", []time.Duration{time.Millisecond}, 1, 0.001},
		{"more than the last bound", []time.Duration{time.Hour}, 0.5, 30},
		{"the slow one of two", []time.Duration{time.Millisecond, time.Second}, 1, 1},
	} {
		h := Durations()
		for _, v := range test.values {
			h.Observe(v)
		}
		if got := h.Snapshot().Quantile(test.part); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: Quantile(%v) of %v = %v, want %v", test.name, test.part, test.values, got, test.want)
		}
	}
}

func TestSinceAndAdd(t *testing.T) {
	h := Sizes()
	h.Observe(3)
	first := h.Snapshot()
	h.Observe(5)
	h.Observe(5)
	later := h.Snapshot().Since(first)
	if later.Count() != 2 || later.Sum != 10 {
		t.Errorf("since the first: %d values, sum %v; want 2 and 10", later.Count(), later.Sum)
	}
	for name, sum := range map[string]Snapshot{"to all": first.Add(later), "to none": Snapshot{}.Add(h.Snapshot())} {
		if sum.Count() != 3 || sum.Sum != 13 {
			t.Errorf("added %s: %d values, sum %v; want 3 and 13", name, sum.Count(), sum.Sum)
		}
	}
}

func TestObserveTogether(t *testing.T) {
	h := Durations()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				h.Observe(time.Millisecond)
			}
		})
	}
	all.Wait()
	if s := h.Snapshot(); s.Count() != 4000 || math.Abs(s.Sum-4) > 1e-9 {
		t.Errorf("4 times 1000 values of 1 ms: %d values, sum %v", s.Count(), s.Sum)
	}
}

func TestObserveAllocatesNothing(t *testing.T) {
	h := Durations()
	if n := testing.AllocsPerRun(100, func() { h.Observe(time.Millisecond) }); n != 0 {
		t.Errorf("Observe allocates %v times", n)
	}
}
