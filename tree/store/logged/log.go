package logged

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/durable"
	"github.com/dogwooddb/dogwood/tree/store/internal/disk"
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
}

// A Log is the write-ahead log of all stores of a process. Its methods may be called by
// several goroutines at once.
//
// It belongs to a data directory and outlives its stores. Of a store it knows the
// position and how much its layers take. Its mutex is taken behind the locks of stores,
// and it calls no store while it holds it; renewing is the exception in front, because
// renew has to apply all stores.
//
// A log for each database was left out: a thousand of them would keep a thousand segments
// and sync one by one, and one log serves all that commit at the same time with one sync.
type Log struct {
	wal      *wal.Log
	memory   int64
	readOnly bool
	keptOnly bool // it has nothing but what is kept of it

	renewing sync.Mutex // taken before the locks of stores other than the one that has its writer

	mu        sync.Mutex // taken behind the locks of stores
	stores    map[*Store]struct{}
	used      int64 // memory of all layers
	relieving bool  // the largest store is being applied because of it
}

// OpenLog opens the log in a directory, which need not exist. Errors are those of [wal.Open].
func OpenLog(dir string, o LogOptions) (*Log, error) {
	return newLog(o, func(w wal.Options) (*wal.Log, error) { return wal.Open(dir, w) })
}

// OpenLogOn is OpenLog for a disk.
func OpenLogOn(d disk.Disk, o LogOptions) (*Log, error) {
	return newLog(o, func(w wal.Options) (*wal.Log, error) { return wal.OpenOn(d, w) })
}

// OpenKept opens what a directory keeps of a log that is not there, to take from it what a
// file lacks.
func OpenKept(dir string, owner uint64) *Log {
	return &Log{wal: wal.OpenKept(dir, owner), memory: defaultMemory, readOnly: true, keptOnly: true, stores: make(map[*Store]struct{})}
}

func newLog(o LogOptions, open func(wal.Options) (*wal.Log, error)) (*Log, error) {
	w, err := open(wal.Options{ReadOnly: o.ReadOnly, SegmentBytes: o.SegmentBytes, Synced: o.Synced,
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
	var first time.Time
	for _, s := range l.all() {
		if since := oldest(s); first.IsZero() || !since.IsZero() && since.Before(first) {
			first = since
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{l.wal.Stats(), l.used, first}
}

// Keep takes the records of databases without an open store out of the log, so that they do
// not hold its segments: the files of the databases are missing, could not be opened, or can only
// be read. They get the records when they are opened in the directory again.
func (l *Log) Keep() error {
	var errs []error
	open := make(map[uint64]bool)
	for _, s := range l.all() {
		open[s.position.database] = true
	}
	for database := range l.wal.Databases() {
		if !open[database] {
			errs = append(errs, l.wal.Keep(database))
		}
	}
	return errors.Join(errs...)
}

// Release says that a file that is not open has what the log has of its database: all up to its
// place, and void records behind it. A copy of a file whose database is open says nothing about
// that.
func (l *Log) Release(p Place) error {
	if p.Log != l.Owner() || p.Needs || l.isOpen(p.Database) {
		return nil
	}
	last, _, _ := voidAfter(l.wal, p.Database, p.Last) // after an error, none is known to be void
	if s, ok := l.wal.State(p.Database); ok && s.Last <= last {
		l.wal.Done(p.Database)
	}
	return l.wal.Release(p.Database, last)
}

func (l *Log) isOpen(database uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.stores {
		if s.position.database == database {
			return true
		}
	}
	return false
}

// Forget gives up what the log has of a database whose file was deleted on purpose. It reports
// whether that was anything. No store of the database may be open.
func (l *Log) Forget(database uint64) (known bool, err error) {
	last, known := l.wal.Databases()[database]
	if !known {
		return false, nil
	}
	l.wal.Done(database)
	return true, l.wal.Release(database, last)
}

// A Kept is what is kept of a database outside of the log's segments.
type Kept = wal.Kept

// LimitKept gives up what was kept for too long, or is too much, but for files that are open and
// can only be read. It returns that and what is still kept, also of logs that were in the
// directory before.
func (l *Log) LimitKept(now time.Time) (kept, givenUp []Kept, err error) {
	givenUp, err = l.wal.Kept().Limit(now, l.shows)
	list, more := l.wal.Kept().List()
	for _, k := range list {
		if k.State == wal.KeptRecords {
			kept = append(kept, k)
		}
	}
	return kept, givenUp, errors.Join(err, more)
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
	left := counted(s)
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
// It begins at the bound itself, and commits wait at twice as much (see ready):
// so they rarely wait.
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
	if s := l.largest(nil); s == nil || !s.applySoon(done) {
		done()
	}
}

// makeRoom applies the largest stores while the layers take twice the memory. One whose file
// cannot be written to is passed over, so that it does not stop the others; its error is for
// when that leaves nothing to apply.
func (l *Log) makeRoom() (err error) {
	var failed []*Store
	for l.full(2) {
		s := l.largest(failed)
		if s == nil {
			return err
		}
		if e := s.Apply(); e != nil {
			failed, err = append(failed, s), e
		}
	}
	return nil
}

// largest returns the store with the most that is not in its file, but for some; nil if there is
// none.
func (l *Log) largest(but []*Store) (s *Store) {
	most := int64(0)
	for _, other := range l.all() {
		if n := other.unapplied(); n > most && !slices.Contains(but, other) {
			s, most = other, n
		}
	}
	return s
}

// all returns the stores whose commits can come into their files. Those of the others stay in the
// log, or are kept, until their files can be written to: nothing waits for them.
func (l *Log) all() (list []*Store) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.stores {
		if !s.file.ReadOnly() {
			list = append(list, s)
		}
	}
	return list
}

// shows reports whether what is kept of a database shows in a store whose file cannot take it.
func (l *Log) shows(k Kept) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.stores {
		if s.file.ReadOnly() && s.position.log == k.Owner && s.position.database == k.Database {
			return true
		}
	}
	return false
}

// renew has the log take records again after a failure. Before that everything that was
// acknowledged is put into the files of all databases: a sync that failed says nothing about
// what the disk has of the segment. If the directory of the log is not in its place, the files
// need no log any more; the error wraps wal.ErrReplaced then, unless a file could not be written.
//
// The store that calls holds its writer. Others go on until their next append, which fails:
// then they come here, too, and find the work done or wait for it.
func (l *Log) renew() error {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	cause := l.wal.Failed()
	if cause == nil {
		return nil // another one has done so
	}
	away := errors.Is(cause, wal.ErrReplaced)
	if err := l.settleAll(away); err != nil {
		return err
	}
	err := l.wal.Renew()
	if !away && errors.Is(err, wal.ErrReplaced) {
		if unsettled := l.settleAll(true); unsettled != nil {
			err = unsettled
		}
	}
	return err
}

// settleAll puts everything that was acknowledged into the files. If the log is away, the files say that
// they do not need it.
func (l *Log) settleAll(away bool) error {
	for _, s := range l.all() {
		s.committing.Lock()
		s.committing.Unlock() //nolint:staticcheck // it waits for the commit that is under way
		err := s.Apply()
		if err == nil && away {
			err = leave(s)
		}
		if err != nil {
			return fmt.Errorf("apply the log: %w", err)
		}
	}
	return nil
}

// again repeats what a file had no room for, after the log has given back what it does not need.
// That the log could not is an error only if the file fails again: what the file has is done.
func (l *Log) again(err error, all bool, do func() error) error {
	if !durable.NoRoom(err) {
		return err
	}
	shrunk := l.wal.Shrink(all)
	if err = do(); err != nil {
		err = errors.Join(shrunk, err)
	}
	return err
}

// announce puts the change of a commit that goes to a file into the log. It returns 0 if there
// is none, or no room for it. The writer of the store is held.
func (l *Log) announce(p position, change []byte) (number uint64, err error) {
	if len(change) == 0 {
		return 0, nil
	}
	rows := binary.LittleEndian.AppendUint64(nil, p.last)
	number, err = l.wal.Append(wal.Record{Database: p.database, Kind: DirectKind, Change: change, Rows: rows})
	if noSegment(err) {
		return 0, nil
	}
	return number, err
}
