package sync

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/tree/store"
)

// ErrDamaged is returned for what is damaged in the file.
var ErrDamaged = store.ErrDamaged

// A scrub reads the whole file now and then, so that damage is found before the data
// are needed, while there is still a backup without it.

const (
	// DefaultScrubEvery is the time from the end of a scrub to the next one.
	DefaultScrubEvery = 24 * time.Hour
	// scrubAfter is the time from the start to the first scrub.
	scrubAfter = time.Minute
	// scrubStep is how much is read in one snapshot, and scrubPause the time between
	// two: together at most 4 MiB in a second.
	scrubStep  = 256 << 10
	scrubPause = time.Second / 16
)

// startScrubs starts what scrubs the file.
func (d *Database) startScrubs() {
	ctx, cancel := context.WithCancel(context.Background())
	d.endScrub, d.scrubbed = cancel, make(chan struct{})
	if d.options.File == "" || d.options.ScrubEvery < 0 {
		close(d.scrubbed)
		return
	}
	go d.scrubLoop(ctx)
}

// scrubLoop scrubs the file until ctx ends.
func (d *Database) scrubLoop(ctx context.Context) {
	defer close(d.scrubbed)
	pause := min(scrubAfter, d.options.ScrubEvery)
	for sleep(ctx, pause) {
		d.scrub(ctx)
		pause = d.options.ScrubEvery
	}
}

// scrub reads the whole file once, and waits while there are writes to be done.
func (d *Database) scrub(ctx context.Context) {
	before, began := d.store.Damaged(), d.options.Now()
	bytes := 0
	for place, more := (store.ScrubPlace{}), true; more; {
		var read int
		err := guarded(func() error {
			return d.snapshot(func(tx *store.Tx) error {
				place, read = tx.Scrub(place, scrubStep)
				return nil
			})
		})
		if err != nil {
			if !errors.Is(err, ErrClosed) {
				d.log.Error("scrub failed", "database", d.store.String(), "err", err)
			}
			return
		}
		bytes += read
		more = !place.Start()
		for wait := more; wait; wait = d.queue.HasTasks() {
			if !sleep(ctx, scrubPause) {
				return
			}
		}
	}
	level := slog.LevelDebug
	damaged := d.store.Damaged() - before
	if damaged > 0 {
		level = slog.LevelError
	}
	d.stats.scrubs.Add(1)
	d.log.Log(ctx, level, "scrubbed", "database", d.store.String(), "bytes", bytes, "damaged", damaged, "took", d.options.Now().Sub(began))
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

// A damageLog logs damage at a bounded rate: the first, and then one in a while.
type damageLog struct {
	log  *slog.Logger
	file string
	now  func() time.Time

	mu      sync.Mutex
	last    time.Time
	omitted int
}

const damageLogEvery = 10 * time.Second

func (l *damageLog) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if !l.last.IsZero() && now.Sub(l.last) < damageLogEvery && !now.Before(l.last) {
		l.omitted++
		return
	}
	l.log.Error("damaged data: run dogwood check on a copy, and restore a backup", "database", l.file, "err", err, "omitted", l.omitted)
	l.last, l.omitted = now, 0
}
