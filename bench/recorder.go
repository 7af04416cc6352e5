package bench

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latencies from a microsecond to ten minutes are told apart, to three digits.
const (
	minLatency = time.Microsecond
	maxLatency = 10 * time.Minute
	digits     = 3
)

// A recorder collects what became of operations. It has several histograms, so
// that goroutines seldom wait for each other.
//
// An operation counts for the rate if it ended within the measured time. Its
// latency counts if it was due in that time, however late it ended: to leave
// out those that end late would leave out exactly the slow ones.
type recorder struct {
	schedule *schedule
	shards   []shard
	inTime   atomic.Int64 // measured operations that ended before the measured time did
	last     atomic.Int64 // when the last one of them ended
}

// recorderShards is how many goroutines can record at a time.
const recorderShards = 16

type shard struct {
	mu     sync.Mutex
	h      *hdrhistogram.Histogram
	failed int64
	reason string // of the first failure
}

func newRecorder(s *schedule) *recorder {
	r := &recorder{schedule: s, shards: make([]shard, recorderShards)}
	for i := range r.shards {
		r.shards[i].h = newHistogram()
	}
	return r
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(minLatency), int64(maxLatency), digits)
}

// Done notes that an operation that was due at a time has just succeeded. Any
// number will do for n: equal ones share a histogram.
func (r *recorder) Done(n int, due time.Duration) {
	if due < r.schedule.warmup {
		return
	}
	now := r.schedule.Now()
	if end := r.schedule.end(); end == 0 || now <= end {
		r.inTime.Add(1)
		storeMax(&r.last, int64(now))
	}
	s := &r.shards[n%len(r.shards)]
	s.mu.Lock()
	defer s.mu.Unlock()
	// Cannot fail: the value is within the bounds.
	_ = s.h.RecordValue(int64(min(max(now-due, 0), maxLatency)))
}

// failed notes that an operation failed.
func (r *recorder) failed(n int, reason string) {
	s := &r.shards[n%len(r.shards)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed++; s.failed == 1 {
		s.reason = reason
	}
}

// Latency returns the percentiles of all latencies, the number of failures and the reason of
// one.
func (r *recorder) Latency() (l Latency, failed int64, reason string) {
	h, failed, reason := r.sum()
	return latencyOf(h), failed, reason
}

// sum returns all latencies, the number of failures and the reason of one.
func (r *recorder) sum() (h *hdrhistogram.Histogram, failed int64, reason string) {
	h = newHistogram()
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		h.Merge(s.h)
		if s.failed > 0 {
			failed += s.failed
			reason = s.reason
		}
		s.mu.Unlock()
	}
	return h, failed, reason
}

func storeMax(v *atomic.Int64, n int64) {
	for {
		old := v.Load()
		if old >= n || v.CompareAndSwap(old, n) {
			return
		}
	}
}

// Latency has percentiles in milliseconds.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

func latencyOf(h *hdrhistogram.Histogram) Latency {
	ms := func(v float64) float64 { return v / float64(time.Millisecond) }
	at := func(q float64) float64 { return ms(float64(h.ValueAtQuantile(q))) }
	return Latency{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: ms(float64(h.Max())), Mean: ms(h.Mean())}
}

// A Histogram collects latencies apart from those of the run.
type Histogram struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram { return &Histogram{h: newHistogram()} }

// Record adds a latency.
func (h *Histogram) Record(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.h.RecordValue(int64(min(max(d, 0), maxLatency))) // cannot fail: within the bounds
}

// Take returns how many latencies there were since the last call, and their percentiles.
func (h *Histogram) Take() (count int64, l Latency) {
	h.mu.Lock()
	defer h.mu.Unlock()
	count, l = h.h.TotalCount(), latencyOf(h.h)
	h.h.Reset()
	return count, l
}
