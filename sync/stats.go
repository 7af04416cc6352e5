package sync

import (
	"sync/atomic"
	"time"
)

// Stats are counts since the database was opened.
type Stats struct {
	Reads, Writes, Denied uint64
	Decisions             uint64 // made by the rules
	Batches               uint64
	Events                uint64        // queued for listeners
	Resyncs               uint64        // whole views sent to slow consumers
	CommitTime            time.Duration // spent in all batches
	Listeners             int
}

type counters struct {
	reads, writes, denied, decisions, batches, events, resyncs, commitNanos atomic.Uint64
}

func (c *counters) batch(tasks int, took time.Duration) {
	c.batches.Add(1)
	c.writes.Add(uint64(tasks))
	c.commitNanos.Add(uint64(took))
}

// Stats returns the database's counts. It waits for nobody.
func (d *Database) Stats() Stats {
	c := &d.stats
	return Stats{
		Reads:      c.reads.Load(),
		Writes:     c.writes.Load(),
		Denied:     c.denied.Load(),
		Decisions:  c.decisions.Load(),
		Batches:    c.batches.Load(),
		Events:     c.events.Load(),
		Resyncs:    c.resyncs.Load(),
		CommitTime: time.Duration(c.commitNanos.Load()),
		Listeners:  int(d.hub.listeners.Load()),
	}
}
