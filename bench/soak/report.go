package soak

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/bench"
)

// An interval collects what goes into an Interval.
type interval struct {
	posts, takes *bench.Histogram

	reconnects, exports, backups atomic.Int64
	fileBytes                    atomic.Int64 // of the last backup
}

func newInterval() *interval {
	return &interval{posts: bench.NewHistogram(), takes: bench.NewHistogram()}
}

// next returns what was collected since the last time.
func (i *interval) next() bench.Interval {
	next := bench.Interval{
		Reconnects: i.reconnects.Swap(0), Exports: i.exports.Swap(0), Backups: i.backups.Swap(0),
		FileMiB: float64(i.fileBytes.Load()) / (1 << 20),
	}
	next.Posts, next.Post = i.posts.Take()
	next.Deliveries, next.Delivery = i.takes.Take()
	return next
}

// A reading is the server's health at one time.
type reading struct {
	at time.Duration
	bench.Health
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
		now := s.Now()
		if ctx.Err() == nil {
			s.readings = append(s.readings, reading{now, s.Health(ctx)})
		}
		if over && now-began < time.Second || !over && now-began < s.Every {
			continue
		}
		next := s.interval.next()
		next.End, next.Seconds, began = now.Seconds(), (now - began).Seconds(), now
		if n := len(s.readings); n > 0 {
			next.Health = s.readings[n-1].Health
		}
		s.AddInterval(next)
	}
	return nil
}
