// Package histogram counts how values are distributed, cheaply enough to be done
// for every operation. It knows nothing of what is counted or of who reads it.
package histogram

import (
	"sort"
	"sync/atomic"
	"time"
)

// A Histogram counts values in buckets. Bounds must not be changed, and Observe
// allocates nothing and waits for nobody. The counts of a Snapshot that is taken
// meanwhile may lack the newest values.
type Histogram struct {
	bounds []float64 // ascending; the last bucket has none
	counts []atomic.Uint64
	sum    atomic.Int64 // in units of scale
	scale  float64      // values are whole numbers, of seconds: nanoseconds
}

// Durations returns a histogram of times between a tenth of a millisecond and half
// a minute, with three buckets for each factor of ten or so.
func Durations() *Histogram {
	return newHistogram(float64(time.Second),
		0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
}

// Sizes returns a histogram of whole numbers up to a thousand.
func Sizes() *Histogram {
	return newHistogram(1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
}

func newHistogram(scale float64, bounds ...float64) *Histogram {
	return &Histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1), scale: scale}
}

// Observe counts a duration, or a whole number.
func (h *Histogram) Observe(v time.Duration) {
	at := sort.SearchFloat64s(h.bounds, float64(v)/h.scale)
	h.counts[at].Add(1)
	h.sum.Add(int64(v))
}

// A Snapshot is what a histogram had counted at a time. The zero one is empty.
type Snapshot struct {
	Bounds []float64 // upper, of all buckets but the last; of durations in seconds
	Counts []uint64  // of each bucket
	Sum    float64   // of all values
}

// Snapshot returns the counts.
func (h *Histogram) Snapshot() Snapshot {
	s := Snapshot{Bounds: h.bounds, Counts: make([]uint64, len(h.counts)), Sum: float64(h.sum.Load()) / h.scale}
	for i := range h.counts {
		s.Counts[i] = h.counts[i].Load()
	}
	return s
}

// Count returns how many values there were.
func (s Snapshot) Count() (n uint64) {
	for _, c := range s.Counts {
		n += c
	}
	return n
}

// Add returns the counts of both, which must have the same bounds or be empty.
func (s Snapshot) Add(other Snapshot) Snapshot {
	return s.combine(other, func(a, b uint64) uint64 { return a + b }, s.Sum+other.Sum)
}

// Since returns what was counted after an earlier snapshot.
func (s Snapshot) Since(earlier Snapshot) Snapshot {
	return s.combine(earlier, func(a, b uint64) uint64 { return a - min(a, b) }, s.Sum-earlier.Sum)
}

func (s Snapshot) combine(other Snapshot, f func(a, b uint64) uint64, sum float64) Snapshot {
	if len(s.Counts) == 0 {
		s.Bounds, s.Counts = other.Bounds, make([]uint64, len(other.Counts))
	}
	counts := make([]uint64, len(s.Counts))
	for i, c := range s.Counts {
		var o uint64
		if i < len(other.Counts) {
			o = other.Counts[i]
		}
		counts[i] = f(c, o)
	}
	return Snapshot{Bounds: s.Bounds, Counts: counts, Sum: sum}
}

// Quantile returns about which value the given part of all values, between 0 and
// 1, do not exceed: as if those of a bucket were spread evenly in it. It is 0 if
// there are no values, and the last bound if the value is above it.
func (s Snapshot) Quantile(part float64) float64 {
	rank := part * float64(s.Count())
	if rank == 0 {
		return 0
	}
	var below uint64
	for i, c := range s.Counts[:len(s.Bounds)] {
		if float64(below+c) >= rank {
			low := 0.0
			if i > 0 {
				low = s.Bounds[i-1]
			}
			return low + (s.Bounds[i]-low)*(rank-float64(below))/float64(c)
		}
		below += c
	}
	return s.Bounds[len(s.Bounds)-1]
}
