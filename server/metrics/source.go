package metrics

import (
	"time"

	"github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/histogram"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A Source is the counters of other packages at the time of a request.
type Source struct {
	Version   string
	Databases []Database // that are open

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

	Log Log
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
type Database struct {
	Namespace string
	Stats     sync.Stats
	Timings   sync.Timings
	Usage     store.Usage
	Failing   bool
}

// failing is 1 for a database whose commits fail.
func (d *Database) failing() float64 {
	if d.Failing {
		return 1
	}
	return 0
}

// maxNamespaces bounds how many databases have numbers of their own. The others
// are summed up under the name others, which is no valid namespace.
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

// Sum adds up the counts and times of all databases.
func (s Source) Sum() (stats sync.Stats, timings sync.Timings) {
	for _, d := range s.Databases {
		stats = sumStats(stats, d.Stats)
		timings.Commits = timings.Commits.Add(d.Timings.Commits)
		timings.Syncs = timings.Syncs.Add(d.Timings.Syncs)
		timings.Acks = timings.Acks.Add(d.Timings.Acks)
		timings.Sizes = timings.Sizes.Add(d.Timings.Sizes)
	}
	return stats, timings
}

func sumStats(a, b sync.Stats) sync.Stats {
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
	return a
}
