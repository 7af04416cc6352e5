// Package logged puts a write-ahead log in front of files. A commit is one record of the
// log, so it costs one sync, which commits of other databases share, and no page of the
// file. Commits are in memory until they are applied to the file, many of them in one
// transaction and in the order of keys.
//
//	write transaction:  own  →  active  →  frozen  →  snapshot of the file
//	read transaction:           active  →  frozen  →  snapshot of the file
//
// Each is a [kv.Layer] in front of the next one. active has what was committed since the last
// freeze. frozen is being applied to the file and does not change.
//
// The file says up to which record it has everything. A file that lacks something says that
// it needs the log, with a format that versions without logs refuse. One that was closed
// needs none.
//
// A transaction that is too large for the log is a transaction of the file: everything
// before it is applied first. So what it writes is written once.
//
// Upkeep is work on the file alone, such as to free what is unreachable. It is done when
// something is applied, and shows in nothing that is read.
//
// Locks are taken in this order: writer, committing, applying, mu, and that of the Log. A
// writer may take the locks of other stores, but their writers, through [Log] when the log
// has failed.
package logged

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/kv"
	"github.com/dogwooddb/dogwood/tree/store/wal"
)

const (
	// applyAfter is how long commits may be in the log alone while there are few.
	applyAfter = 5 * time.Second
	// maxRows is the length of the rows of a commit above which it does not go through
	// the log, in bytes.
	maxRows = 4 << 20
	// maxIdle bounds how many snapshots are kept.
	maxIdle = 16
)

// freezeBytes is Options.FreezeBytes unless it is given, and bounded by the memory of the log.
// Tests of other packages are linked with other sizes: -ldflags=-X=PACKAGE.freezeBytes=1024.
var freezeBytes = "8388608"

func defaultFreeze(memory int64) int64 {
	n, err := strconv.ParseInt(freezeBytes, 10, 64)
	if err != nil || n <= 0 {
		panic("logged: linked with freezeBytes=" + freezeBytes)
	}
	return min(n, memory/4)
}

// CommitKind is the kind of the records of commits.
const CommitKind = wal.FirstKind

// DirectKind is the kind of the records of commits whose rows are in the file. Such a record
// is void unless the file has the commit: then the next record of the database names it as the
// one before, or else the file does.
const DirectKind = wal.FirstKind + 1

// Options adjust a store. The zero value is right for most.
type Options struct {
	// FreezeBytes is how much memory the commits that are not in the file may take before
	// they are applied to it, 0: 8 MiB. Commits wait at twice as much.
	FreezeBytes int64

	// Upkeep works on the file alone, with a transaction of it. Its writes must not
	// show in anything that transactions of the store read. It does as much as goes with
	// so many entries that are applied, 0 if there are none, and reports whether there is
	// more to do. nil: there is no such work.
	Upkeep func(tx kv.Tx, entries int) (more bool, err error)
}

// A Store is a file with a log in front of it.
//
// It has four locks. writer is held from the beginning to the end of a write
// transaction and orders commits of this database. committing is held around
// one append, so that [Log.renew] can wait for a commit that is under way in
// another database without taking its writer. applying is held by the one that
// writes to the file. mu guards the fields below it and is held for moments
// only: no I/O is done under it.
//
// position.database and position.log do not change after Open, and are read
// without mu.
//
// Readers are consistent because of the order in which things change. A commit
// adds to active under mu before it is acknowledged. A layer that is applied
// stays in front of the file until the transaction of its last entries is
// committed, and goes in the same critical section that begins a new epoch. So
// a base of the old epoch is combined with the layer, and a base of the new
// epoch without it, and never the other way round.
//
// To decide the next batch while one is being synced was tried as a prototype.
// It gained 1.1 times with 16 writes in flight and lost a tenth with 256, and
// left a state that is decided but not durable.
type Store struct {
	file   *kv.File
	log    *Log
	upkeep upkeep
	took   atomic.Int64 // by commits, in nanoseconds
	kept   wal.Kept     // what it lacked when it was opened; zero: nothing was kept for it

	writer     sync.Mutex // held by the write transaction
	committing sync.Mutex // held from the append to the log until active has the commit
	applying   sync.Mutex // held by the one that writes to the file
	started    sync.WaitGroup

	mu        sync.Mutex
	position  position
	needs     bool          // the file says that it needs the log
	unsure    bool          // and the disk may have that it does not, see needNone
	active    *kv.Layer     // what was committed
	frozen    *kv.Layer     // nil: nothing is applied
	frozenTo  uint64        // the number of its last record
	since     time.Time     // when the first commit of active was made; of frozen: frozenSince
	applied   chan struct{} // closed when frozen has been applied, or that failed
	shown     []*kv.Layer   // what readers see; nil: has to be made
	epoch     uint64        // of snapshots: changes when something was applied
	provided  int64         // for how much that is not in it the file has room, see provide
	aside     int64         // how much of that goes to the file now, past the log
	idle      []kv.Tx       // snapshots of the epoch without a reader
	unkept    bool          // snapshots are not kept
	speed     speed
	room      room
	busy      bool     // the background works
	wanted    bool     // it is to apply active
	resting   bool     // and then to have the file need no log, if nothing was committed meanwhile
	done      []func() // to be called when wanted was done
	closing   bool
	followers followers
	aging     *time.Timer // runs while active has something

	frozenSince time.Time

	// inTurn counts transactions past the log in turn that found commits in memory. applying
	// guards it.
	inTurn int

	// tried is the line that a try of needLog gave the file, which failed; 0: none did. The
	// disk may have it all the same, so the next try takes it again: the log must know the
	// line that is in the file after a crash. needLog runs with writer and committing, and so
	// alone; what else changes it holds one of them, and applying.
	tried uint64
}

// File returns the file.
func (s *Store) File() *kv.File { return s.file }

// CommitTime returns how long all commits so far took.
func (s *Store) CommitTime() time.Duration { return time.Duration(s.took.Load()) }

// Begin begins a transaction. There is one write transaction at a time.
func (s *Store) Begin(writable bool) (kv.Tx, error) {
	if writable {
		s.writer.Lock()
	}
	t, err := s.begin(writable)
	if err != nil && writable {
		s.writer.Unlock()
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// begin begins a transaction; for one that writes, the writer is held.
//
// The base is begun outside of mu, since that may wait for the disk. If the
// epoch changes meanwhile it is given up: what was applied in between would be
// missing both in the base and in the layers.
func (s *Store) begin(writable bool) (*Tx, error) {
	t := &Tx{store: s, writable: writable}
	for {
		s.mu.Lock()
		t.epoch = s.epoch
		if n := len(s.idle) - 1; n >= 0 {
			t.Base, s.idle = s.idle[n], s.idle[:n]
			t.Layers = s.layers(writable)
			s.mu.Unlock()
			break
		}
		s.mu.Unlock()
		base, err := s.file.Begin(false)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		if t.epoch == s.epoch { // or what was applied meanwhile is neither there nor in a layer
			t.Base, t.Layers = base, s.layers(writable)
			s.mu.Unlock()
			break
		}
		s.mu.Unlock()
		base.Rollback()
	}
	if writable {
		t.Layers = append([]*kv.Layer{&t.own}, t.Layers...)
	}
	return t, nil
}

// layers returns what is in front of the file. The writer reads active itself: no other goroutine
// changes it. mu is held.
func (s *Store) layers(writable bool) []*kv.Layer {
	if s.shown != nil && !writable {
		return s.shown
	}
	list := make([]*kv.Layer, 0, 3)
	switch {
	case s.active.Empty():
	case writable:
		list = append(list, s.active)
	default:
		list = append(list, s.active.Copy())
	}
	if s.frozen != nil {
		list = append(list, s.frozen)
	}
	if !writable {
		s.shown = list
	}
	return list
}

// giveBack keeps a snapshot for the next transaction, if it is of the current epoch.
func (s *Store) giveBack(base kv.Tx, epoch uint64) {
	s.mu.Lock()
	if epoch == s.epoch && len(s.idle) < maxIdle && !s.unkept && !s.closing {
		s.idle = append(s.idle, base)
		base = nil
	}
	s.mu.Unlock()
	if base != nil {
		base.Rollback()
	}
}

// oldest returns when the oldest commit was made that is not in the file; zero if there is
// none.
func oldest(s *Store) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.frozen != nil:
		return s.frozenSince
	case !s.active.Empty():
		return s.since
	}
	return time.Time{}
}

// counted is unapplied as far as it counts for the log: what can never be applied would have it
// apply all else at once.
func counted(s *Store) int64 {
	if s.file.ReadOnly() {
		return 0
	}
	return s.unapplied()
}

// unapplied returns about how much memory the commits take that are not in the file.
func (s *Store) unapplied() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.active.Bytes()
	if s.frozen != nil {
		n += s.frozen.Bytes()
	}
	return n
}
