package sync

import (
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/histogram"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/trace"
)

// Stats are counts since the database was opened, and a few that are of now.
type Stats struct {
	Reads, Writes, Denied uint64
	Decisions             uint64 // made by the rules
	Batches               uint64
	Failed                uint64        // attempts to commit
	Published             uint64        // events, each for all listeners of a view
	Events                uint64        // queued for listeners
	Resyncs               uint64        // whole views sent to slow consumers
	Overflows             uint64        // of outboxes
	Damaged               uint64        // entries of the file that are damaged, each time that one is read
	Scrubs                uint64        // of the whole file
	Slow                  uint64        // clients given up because they did not read
	Waits                 uint64        // writes that waited because the queue was full
	CommitTime            time.Duration // spent in all batches

	Listeners   int
	Queued      int   // writes that wait for the committer
	QueuedBytes int64 // of them
	Watchers    int   // of operations
	Refused     int   // of the rules and the data document: those that this version of Dogwood refuses

	Definitions map[string]declared.Activity // of the data document, by their names; nil: there is none
}

// Timings are how long operations took since the database was opened.
type Timings struct {
	Commits histogram.Snapshot // of a batch: deciding, storing and publishing
	Syncs   histogram.Snapshot // the part of it that writes to the disk
	Acks    histogram.Snapshot // of a write, from when it is queued until it is durable
	Sizes   histogram.Snapshot // writes of a batch
}

// Stats returns the database's counts. It waits for nobody.
func (d *Database) Stats() Stats {
	c := &d.stats
	s := Stats{
		Reads:      c.reads.Load(),
		Writes:     c.writes.Load(),
		Denied:     d.access.Denied.Load(),
		Decisions:  d.access.Decisions.Load(),
		Batches:    c.batches.Load(),
		Failed:     c.failed.Load(),
		Published:  c.published.Load(),
		Events:     c.events.Load(),
		Resyncs:    c.sent.Resyncs.Load(),
		Overflows:  c.sent.Overflows.Load(),
		Damaged:    d.store.Damaged(),
		Scrubs:     c.scrubs.Load(),
		Slow:       c.sent.Slow.Load(),
		CommitTime: time.Duration(c.commitNanos.Load()),
		Listeners:  d.audience.Listeners(),
		Watchers:   d.watchers.Len(),

		Definitions: d.data.Load().Activities(),
	}
	for _, err := range []error{d.rules.Load().Refused(), d.data.Load().Document().Refused()} {
		if err != nil {
			s.Refused++
		}
	}
	s.Queued, s.QueuedBytes, s.Waits = d.queue.Waiting()
	return s
}

// Timings returns how long the database's operations took. It waits for nobody.
func (d *Database) Timings() Timings {
	c := &d.stats
	return Timings{
		Commits: c.commits.Snapshot(),
		Syncs:   c.syncs.Snapshot(),
		Acks:    c.acks.Snapshot(),
		Sizes:   c.sizes.Snapshot(),
	}
}

// WatchOperations has f called for each operation until stop is called, as Watchers.Watch of
// package trace does.
func (d *Database) WatchOperations(f func(trace.Operation)) (stop func()) { return d.watchers.Watch(f) }

// They are atomics, so that reading statistics takes no lock that a write needs, and may be
// a little out of step with one another.
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
