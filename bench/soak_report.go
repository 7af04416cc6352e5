package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// An Interval is a part of a long run.
type Interval struct {
	End     float64 `json:"end"`     // seconds since the load began
	Seconds float64 `json:"seconds"` // how long it was

	Posts      int64   `json:"posts"`
	Deliveries int64   `json:"deliveries"`
	Post       Latency `json:"postMs"`     // from when it was due to its acknowledgement
	Delivery   Latency `json:"deliveryMs"` // to its arrival at a follower

	Reconnects int64 `json:"reconnects"`
	Exports    int64 `json:"exports"`
	Backups    int64 `json:"backups"`

	Health  Health  `json:"server"` // at the end
	FileMiB float64 `json:"fileMiB,omitempty"`
	Faults  int     `json:"faults"` // so far
}

// An interval collects what goes into an Interval.
type interval struct {
	mu           sync.Mutex // guards the histograms
	posts, takes *hdrhistogram.Histogram

	reconnects, exports, backups atomic.Int64
	fileBytes                    atomic.Int64 // of the last backup
}

func newInterval() *interval { return &interval{posts: newHistogram(), takes: newHistogram()} }

func (i *interval) posted(d time.Duration) { i.record(i.posts, d) }

func (i *interval) delivered(d time.Duration) { i.record(i.takes, d) }

func (i *interval) record(h *hdrhistogram.Histogram, d time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	_ = h.RecordValue(int64(min(max(d, 0), maxLatency))) // cannot fail: within the bounds
}

// next returns what was collected since the last time.
func (i *interval) next() Interval {
	i.mu.Lock()
	defer i.mu.Unlock()
	next := Interval{
		Posts: i.posts.TotalCount(), Deliveries: i.takes.TotalCount(),
		Post: latencyOf(i.posts), Delivery: latencyOf(i.takes),
		Reconnects: i.reconnects.Swap(0), Exports: i.exports.Swap(0), Backups: i.backups.Swap(0),
		FileMiB: float64(i.fileBytes.Load()) / (1 << 20),
	}
	i.posts.Reset()
	i.takes.Reset()
	return next
}

// A reading is the server's health at one time.
type reading struct {
	at time.Duration
	Health
}

// report reads the server's health every second and adds an Interval to the
// result when it is time, until the load is over.
func (s *soak) report(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	began := time.Duration(0)
	for over := false; !over; {
		select {
		case <-tick.C:
		case <-s.ending:
			over = true
		case <-ctx.Done():
			over = true
		}
		now := s.now()
		if ctx.Err() == nil {
			s.readings = append(s.readings, reading{now, s.health(ctx)})
		}
		if over && now-began < time.Second || !over && now-began < s.Every {
			continue
		}
		next := s.interval.next()
		next.End, next.Seconds, began = now.Seconds(), (now - began).Seconds(), now
		if n := len(s.readings); n > 0 {
			next.Health = s.readings[n-1].Health
		}
		s.addInterval(next)
	}
	return nil
}

func (r *run) addInterval(next Interval) {
	r.mu.Lock()
	next.Faults = r.faulty
	r.intervals = append(r.intervals, next)
	r.mu.Unlock()
	if r.Interval != nil {
		r.Interval(next)
	}
}

// maxFaults is how many faults a result names. There may be more.
const maxFaults = 20

// fault notes that something is wrong which is not the end of the run.
func (r *run) fault(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.faulty++; r.faulty <= maxFaults {
		r.faults = append(r.faults, fmt.Sprintf(format, args...))
	}
}
