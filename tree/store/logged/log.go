package logged

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/wal"
)

// defaultMemory is LogOptions.MemoryBytes unless it is given.
const defaultMemory = 64 << 20

// LogOptions adjust a log. The zero value is right for most.
type LogOptions struct {
	// MemoryBytes is how much memory the commits of all stores may take that are not in
	// their files, 0: 64 MiB. Above it the largest store is applied, and commits wait at
	// twice as much.
	MemoryBytes int64
	// ReadOnly opens a log to take from it what files lack. Nothing is changed.
	ReadOnly bool
	// SegmentBytes is the size of segments, 0: 16 MiB.
	SegmentBytes int64
	// KeepBytes, KeepAge and HoldBytes are those of [wal.Options]: what stays for readers.
	KeepBytes int64
	KeepAge   time.Duration
	HoldBytes int64
	// Synced is [wal.Options.Synced].
	Synced func(took time.Duration)
	// Fault is [wal.Options.Fault], nil but in tests.
	Fault func() error
}

// A Log is the write-ahead log of all stores of a process. Its methods may be called by
// several goroutines at once.
type Log struct {
	wal      *wal.Log
	memory   int64
	readOnly bool

	renewing sync.Mutex // taken before the locks of stores other than the one that has its writer

	mu        sync.Mutex // taken behind the locks of stores
	stores    map[*Store]struct{}
	used      int64 // memory of all layers
	relieving bool  // the largest store is being applied because of it
}

// OpenLog opens the log in a directory, which need not exist. Errors are those of [wal.Open].
func OpenLog(dir string, o LogOptions) (*Log, error) {
	w, err := wal.Open(dir, wal.Options{ReadOnly: o.ReadOnly, SegmentBytes: o.SegmentBytes, Fault: o.Fault, Synced: o.Synced,
		KeepBytes: o.KeepBytes, KeepAge: o.KeepAge, HoldBytes: o.HoldBytes})
	if err != nil {
		return nil, err
	}
	l := &Log{wal: w, memory: o.MemoryBytes, readOnly: o.ReadOnly, stores: make(map[*Store]struct{})}
	if l.memory == 0 {
		l.memory = defaultMemory
	}
	return l, nil
}

// Owner returns the random id of the log.
func (l *Log) Owner() uint64 { return l.wal.Owner() }

// ReadOnly reports whether the log is only read.
func (l *Log) ReadOnly() bool { return l.readOnly }

// Close closes the log. Its stores must have been closed.
func (l *Log) Close() error { return l.wal.Close() }

// Stats are figures of a log.
type Stats struct {
	wal.Stats
	Unapplied int64     // about the memory of commits that are not in their files, in bytes
	Oldest    time.Time // when the oldest of these was made, or taken from the log; zero if there is none
}

// Stats returns the figures of the log.
func (l *Log) Stats() Stats {
	var oldest time.Time
	for _, s := range l.all() {
		if since := s.oldest(); oldest.IsZero() || !since.IsZero() && since.Before(oldest) {
			oldest = since
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{l.wal.Stats(), l.used, oldest}
}

// Forget gives up the records of all databases that keep does not name. Call it when no file
// needs them, as after a database was removed: nothing else would release them. It returns
// how many databases that were.
func (l *Log) Forget(keep map[uint64]bool) (forgotten int, err error) {
	for database, last := range l.wal.Databases() {
		if !keep[database] {
			forgotten++
			err = errors.Join(err, l.wal.Release(database, last))
		}
	}
	return forgotten, err
}

// Pending reports whether the log has records that are not known to be in a file.
func (l *Log) Pending() bool { return len(l.wal.Databases()) > 0 }

// add notes a store that is open. It reports false if another one has the same database, of
// whose file this one is a copy.
func (l *Log) add(s *Store) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for other := range l.stores {
		if other.position.database == s.position.database && !l.readOnly {
			return false
		}
	}
	l.stores[s] = struct{}{}
	return true
}

// remove forgets a store that is closed, and what its layers took.
func (l *Log) remove(s *Store) {
	left := s.unapplied()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.stores, s)
	l.used -= left
}

// grow notes that layers take so many more bytes.
func (l *Log) grow(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used += bytes
}

// full reports whether the layers take so many times the memory that they should.
func (l *Log) full(times int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used > times*l.memory
}

// relieve applies the largest store in the background, unless it is doing that.
func (l *Log) relieve() {
	l.mu.Lock()
	busy := l.relieving
	l.relieving = true
	l.mu.Unlock()
	if busy {
		return
	}
	done := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.relieving = false
	}
	if s := l.largest(); s == nil || !s.applySoon(done) {
		done()
	}
}

// largest returns the store with the most that is not in its file.
func (l *Log) largest() (s *Store) {
	most := int64(0)
	for _, other := range l.all() {
		if n := other.unapplied(); n > most {
			s, most = other, n
		}
	}
	return s
}

func (l *Log) all() (list []*Store) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.stores {
		list = append(list, s)
	}
	return list
}

// renew has the log take records again after a failure. Before that everything that was
// acknowledged is put into the files of all databases: a sync that failed says nothing about
// what the disk has of the segment.
func (l *Log) renew() error {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	if l.wal.Failed() == nil {
		return nil // another one has done so
	}
	for _, s := range l.all() {
		if err := s.applyAll(); err != nil {
			return fmt.Errorf("apply the log: %w", err)
		}
	}
	return l.wal.Renew()
}
