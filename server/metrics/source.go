package metrics

import (
	"time"

	"github.com/dogwooddb/dogwood/server/space"
	"github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/histogram"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A Source is the counters of other packages at the time of a request.
type Source struct {
	Version   string
	Databases []Database // that are open, or were
	Dropped   Database   // the counts of those that were dropped, for sums

	BodyBytes, AnswerBytes     int64 // in memory
	WorkBytes                  int64 // for what is made of bodies, and read
	ViewBytes                  int64 // large messages for listeners, in memory
	WaitingBytes               int64 // events and replies that wait for slow clients
	PendingBytes               int64 // onDisconnect operations of connected clients
	RunningImports             int
	RunningExports             int // and backups
	BackupsDone, BackupsFailed uint64
	LastBackup                 time.Time // zero: none yet
	LastBackupBytes            int64

	Log   Log
	Disks []space.Disk

	SpansSent, SpansDropped uint64 // of traces

	Certificates map[string]time.Time // until when they are valid, by host; zero: there is none
}

// A Log is the figures of the write-ahead log; all are zero without one.
type Log struct {
	Bytes     int64
	Segments  int
	Unapplied int64         // memory of commits that are not in the files of their databases
	Oldest    time.Duration // age of the oldest of them
	Syncs     histogram.Snapshot
}

// A Database is one of them.
//
// Counters must not go back for Prometheus, but those of an engine end when an
// idle database is closed. So what a database has counted before is kept (Past)
// and added to what it counts now (Plus).
type Database struct {
	Namespace string
	Stats     sync.Stats
	Timings   sync.Timings
	Usage     store.Usage
	Failing   bool
	Open      bool // else the counts are those of before it was closed
}

// Plus returns the counts of both, with the figures of the moment of other.
func (d Database) Plus(other Database) Database {
	stats, timings := Source{Databases: []Database{d, other}}.Sum()
	stats.Definitions = make(map[string]declared.Activity, len(other.Stats.Definitions))
	for name, a := range other.Stats.Definitions { // those that are no more have no figures
		stats.Definitions[name] = a.Plus(d.Stats.Definitions[name])
	}
	other.Stats, other.Timings = stats, timings
	return other
}

// Past returns a database that is closed: counts, without what there is at a time.
func (d Database) Past() Database {
	d.Stats.Listeners, d.Stats.Queued, d.Stats.QueuedBytes, d.Stats.Watchers, d.Stats.Refused = 0, 0, 0, 0, 0
	d.Failing, d.Open = false, false
	return d
}

// failing is 1 for a database whose commits fail.
func (d *Database) failing() float64 { return oneIf(d.Failing) }

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// maxNamespaces bounds how many databases have numbers of their own. The others
// are summed up under the name others, which is no valid namespace. A label for
// each of thousands of databases would make every scrape as long as that, and
// memory of Prometheus.
const (
	maxNamespaces = 100
	others        = "*"
)

// named returns the databases that are shown one by one, and the sum of the rest.
func named(all []Database) []Database {
	if len(all) <= maxNamespaces {
		return all
	}
	rest := Database{Namespace: others}
	for _, d := range all[maxNamespaces:] {
		rest.Stats = sumStats(rest.Stats, d.Stats)
		rest.Usage.Bytes += d.Usage.Bytes
		rest.Usage.FreeBytes += d.Usage.FreeBytes
		rest.Usage.Reclaim += d.Usage.Reclaim
		rest.Failing = rest.Failing || d.Failing
	}
	return append(all[:maxNamespaces:maxNamespaces], rest)
}

// open returns how many databases are open.
func (s Source) open() (n int) {
	for _, d := range s.Databases {
		if d.Open {
			n++
		}
	}
	return n
}

// Sum adds up the counts and times of all databases.
func (s Source) Sum() (stats sync.Stats, timings sync.Timings) {
	for _, d := range append(s.Databases[:len(s.Databases):len(s.Databases)], s.Dropped) {
		stats = sumStats(stats, d.Stats)
		timings.Commits = timings.Commits.Add(d.Timings.Commits)
		timings.Syncs = timings.Syncs.Add(d.Timings.Syncs)
		timings.Acks = timings.Acks.Add(d.Timings.Acks)
		timings.Sizes = timings.Sizes.Add(d.Timings.Sizes)
	}
	return stats, timings
}

// sumStats adds up the counts of two databases. Definitions are those of one database.
func sumStats(a, b sync.Stats) sync.Stats {
	a.Definitions = nil
	a.Reads += b.Reads
	a.Writes += b.Writes
	a.Denied += b.Denied
	a.Decisions += b.Decisions
	a.Batches += b.Batches
	a.Failed += b.Failed
	a.Published += b.Published
	a.Events += b.Events
	a.Resyncs += b.Resyncs
	a.Overflows += b.Overflows
	a.Damaged += b.Damaged
	a.Scrubs += b.Scrubs
	a.Slow += b.Slow
	a.Waits += b.Waits
	a.CommitTime += b.CommitTime
	a.Listeners += b.Listeners
	a.Queued += b.Queued
	a.QueuedBytes += b.QueuedBytes
	a.Watchers += b.Watchers
	a.Refused += b.Refused
	return a
}
