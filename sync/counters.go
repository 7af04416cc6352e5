package sync

import (
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/sync/histogram"
	"github.com/dogwooddb/dogwood/sync/outbox"
)

type counters struct {
	reads, writes, batches, events, commitNanos atomic.Uint64
	failed, published, scrubs                   atomic.Uint64

	sent outbox.Counts // of what outboxes could not keep

	failing atomic.Bool  // the last commit failed because the store did
	probed  atomic.Int64 // when the store was last tried, in Unix nanoseconds

	commits, syncs, acks, sizes *histogram.Histogram
}

func newCounters() counters {
	return counters{
		commits: histogram.Durations(),
		syncs:   histogram.Durations(),
		acks:    histogram.Durations(),
		sizes:   histogram.Sizes(),
	}
}

func (c *counters) batch(tasks int, took, writing time.Duration) {
	c.batches.Add(1)
	c.writes.Add(uint64(tasks))
	c.commitNanos.Add(uint64(took))
	c.commits.Observe(took)
	c.sizes.Observe(time.Duration(tasks))
	if writing > 0 {
		c.syncs.Observe(writing)
	}
}
