package store

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/kv"
	"github.com/dogwooddb/dogwood/tree/store/logged"
	"github.com/dogwooddb/dogwood/tree/store/used"
)

// Options adjust a store. The zero value is right for most.
type Options struct {
	ReadOnly    bool // change nothing; the file must be there, and others may read it, too
	NoSync      bool // do not sync commits to the disk: a power failure may lose the file
	WriterLimit int  // clients whose writes are recognized; 0: DefaultWriterLimit

	// Log is the log that commits go to, which databases of a process share. nil: they go to
	// the file, and commits that a log in its directory has of an earlier run are put into it first.
	// A store in memory needs none.
	Log *logged.Log
	// ReadLog opens the log of a file that is only read, for Tail, also if the file lacks
	// nothing that is there.
	ReadLog bool
	// FreezeBytes is [logged.Options.FreezeBytes].
	FreezeBytes int64

	Now      func() time.Time // nil: time.Now
	OnDamage func(error)      // is told of every damaged entry that is read; nil: nobody
}

// A Store is an open tree.
//
// The lock order is: writeCache.taken, the locks of kv (see package logged),
// and then the small mutexes of snapshotPool and abortedLoads. These are
// leaves: no call to kv is made while one of them is held, so a reader that
// takes a pooled snapshot never waits for a disk.
//
// Fields that a comment gives to the writer belong to the transaction that
// holds writeCache.taken, and need no lock of their own. The catalogue and the
// counters are atomic, since readers look at them. The other fields are set by
// Open and do not change, except kv, logged and ownLog, which joinLog may
// replace before Open returns.
type Store struct {
	kv        kv.Store
	bolt      *kv.File      // below kv; nil for a store in memory
	logged    *logged.Store // kv, if there is a log; else nil
	ownLog    *logged.Log   // that was found in the file's directory; nil: none
	file      string
	options   Options
	catalogue atomic.Pointer[catalogue] // newest
	cache     *writeCache               // the writer's
	snapshots snapshotPool
	work      atomic.Bool // see TakeWork
	aborted   abortedLoads
	damaged   atomic.Uint64
	reads     used.Counts[Index] // of indexes
	saved     time.Time          // when SaveUses looked last; the writer's
	unready   bool               // what initialize writes was not written for want of room; the writer's
	counting  map[uint64]int64   // containers that are being counted, and what is to be added; the writer's
}

func (o Options) withDefaults() Options {
	if o.WriterLimit == 0 {
		o.WriterLimit = DefaultWriterLimit
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// String returns the file's name, or "memory".
func (s *Store) String() string {
	if s.file == "" {
		return "memory"
	}
	return s.file
}

// ReadOnly reports whether nothing can be written.
func (s *Store) ReadOnly() bool { return s.options.ReadOnly }

// Failed reports whether the store is unusable, see ErrFailed. It waits for nobody.
func (s *Store) Failed() bool {
	return s.bolt != nil && s.bolt.Failed()
}

// InPlace returns ErrReplaced if the store's file does not have its name any more.
func (s *Store) InPlace() error {
	if s.bolt != nil {
		return s.bolt.InPlace()
	}
	return nil
}

// Close closes the file. Transactions must have ended.
func (s *Store) Close() error {
	s.snapshots.close()
	return s.closeFile()
}

func (s *Store) closeFile() error {
	err := s.kv.Close()
	if s.ownLog != nil {
		err = errors.Join(err, s.ownLog.Close())
	}
	return err
}

// abortedLoads are those whose Abort failed. Its methods may be called by several
// goroutines at once.
//
// Their records stay in bucket m, so a crash loses nothing: the next start finds them.
// The list only keeps their rows from staying until then.
type abortedLoads struct {
	mu   sync.Mutex
	keys [][]byte
}

func (a *abortedLoads) add(key []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys = append(a.keys, key)
}

func (a *abortedLoads) some() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.keys) > 0
}

func (a *abortedLoads) take() [][]byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	keys := a.keys
	a.keys = nil
	return keys
}

// Damaged returns how often something read an entry that is damaged, since the store
// was opened. Each was an error for its reader.
func (s *Store) Damaged() uint64 { return s.damaged.Load() }

func (s *Store) noteDamage(err error) {
	s.damaged.Add(1)
	if s.options.OnDamage != nil {
		s.options.OnDamage(err)
	}
}
