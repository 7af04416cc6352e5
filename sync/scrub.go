package sync

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A scrub reads the whole file now and then, so that damage is found before the data
// are needed, while there is still a backup without it.

const (
	// scrubAfter is the time from the start to the first scrub.
	scrubAfter = time.Minute
	// scrubStep is how much is read in one snapshot, and scrubPause the time between
	// two: together at most 4 MiB in a second.
	scrubStep  = 256 << 10
	scrubPause = time.Second / 16
)

// A scrubber is the goroutine that scrubs the file of a database.
//
// It gives way to writes at each step, so a busy database is scrubbed slowly: a
// scrub must not delay writes.
type scrubber struct {
	db       *core
	endScrub context.CancelFunc
	scrubbed chan struct{} // closed when there are no more scrubs

	scrubbing atomic.Bool // one is under way
}

// startScrubs starts what scrubs the file.
func (s *scrubber) startScrubs() {
	ctx, cancel := context.WithCancel(context.Background())
	s.endScrub, s.scrubbed = cancel, make(chan struct{})
	if s.db.options.File == "" || s.db.options.ScrubEvery < 0 {
		close(s.scrubbed)
		return
	}
	go s.scrubLoop(ctx)
}

// scrubLoop scrubs the file until ctx ends.
func (s *scrubber) scrubLoop(ctx context.Context) {
	defer close(s.scrubbed)
	pause := min(scrubAfter, s.db.options.ScrubEvery)
	for sleep(ctx, pause) {
		s.scrub(ctx)
		pause = s.db.options.ScrubEvery
	}
}

// scrub reads the whole file once, and waits while there are writes to be done.
func (s *scrubber) scrub(ctx context.Context) {
	s.scrubbing.Store(true)
	defer s.scrubbing.Store(false)
	before, began := s.db.store.Damaged(), s.db.options.Now()
	bytes := 0
	for place, more := (store.ScrubPlace{}), true; more; {
		var read int
		err := fault.Guard(func() error {
			return s.db.snapshot(func(tx *store.Tx) error {
				place, read = tx.Scrub(place, scrubStep)
				return nil
			})
		})
		if err != nil {
			if !errors.Is(err, fault.ErrClosed) {
				s.db.log.Error("scrub failed", "database", s.db.store.String(), "err", err)
			}
			return
		}
		bytes += read
		more = !place.Start()
		for wait := more; wait; wait = s.db.queue.HasTasks() {
			if !sleep(ctx, scrubPause) {
				return
			}
		}
	}
	level := slog.LevelDebug
	damaged := s.db.store.Damaged() - before
	if damaged > 0 {
		level = slog.LevelError
	}
	s.db.stats.scrubs.Add(1)
	s.db.log.Log(ctx, level, "scrubbed", "database", s.db.store.String(), "bytes", bytes, "damaged", damaged, "took", s.db.options.Now().Sub(began))
}

// sleep reports whether the time has passed before ctx ended.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
