// Package logged puts a write-ahead log in front of a file. A commit is one record of the
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
// Locks are taken in this order: writer, applying, mu.
package logged

import (
	"errors"
	"fmt"
	"sync"

	"github.com/dogwooddb/dogwood/tree/store/kv"
	"github.com/dogwooddb/dogwood/tree/store/wal"
)

const (
	defaultFreeze = 8 << 20
	// maxRows is the length of the rows of a commit above which it does not go through
	// the log, in bytes.
	maxRows = 4 << 20
)

// CommitKind is the kind of the records of commits.
const CommitKind = wal.FirstKind

// Options adjust a store. The zero value is right for most.
type Options struct {
	// FreezeBytes is how much memory the commits that are not in the file may take before
	// they are applied to it, 0: 8 MiB. Commits wait at twice as much.
	FreezeBytes int64
}

// A Store is a file with a log in front of it.
type Store struct {
	file   *kv.File
	log    *wal.Log
	freeze int64

	writer   sync.Mutex // held by the write transaction
	applying sync.Mutex // held by the one that writes to the file
	started  sync.WaitGroup

	mu       sync.Mutex
	position position
	needs    bool        // the file says that it needs the log
	active   *kv.Layer   // what was committed
	frozen   *kv.Layer   // nil: nothing is applied
	frozenTo uint64      // the number of its last record
	shown    []*kv.Layer // what readers see; nil: has to be made
	epoch    uint64      // of snapshots: changes when something was applied
	idle     []kv.Tx     // snapshots of the epoch without a reader
	busy     bool        // something is applied in the background
}

// maxIdle bounds how many snapshots are kept.
const maxIdle = 16

// File returns the file.
func (s *Store) File() *kv.File { return s.file }

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

// A Tx is a transaction of a Store. It belongs to one goroutine.
type Tx struct {
	kv.Layered
	store    *Store
	writable bool
	ended    bool
	epoch    uint64
	own      kv.Layer
}

// Put puts an entry.
func (t *Tx) Put(b kv.Bucket, key, value []byte) error {
	t.own.Put(b, key, value)
	return nil
}

// Delete deletes an entry, if there is one.
func (t *Tx) Delete(b kv.Bucket, key []byte) error {
	t.own.Delete(b, key)
	return nil
}

// Dense does nothing: the file is written in the order of keys in any case.
func (t *Tx) Dense() {}

// Cursor returns a cursor of a bucket.
func (t *Tx) Cursor(b kv.Bucket) kv.Cursor { return t.Layered.Cursor(b, nil) }

// Commit makes the writes durable and visible. After an error none of them is, unless the
// error is kv.ErrUnknown.
func (t *Tx) Commit() error {
	if !t.writable || t.ended {
		return errors.New("commit of a transaction that does not write, or has ended")
	}
	defer t.Rollback()
	if t.own.Empty() {
		return nil
	}
	return t.store.commit(&t.own)
}

// Rollback ends the transaction without its writes. After Commit it does nothing.
func (t *Tx) Rollback() {
	if t.ended {
		return
	}
	t.ended = true
	t.store.giveBack(t.Base, t.epoch)
	if t.writable {
		t.store.writer.Unlock()
	}
}

// giveBack keeps a snapshot for the next transaction, if it is of the current epoch.
func (s *Store) giveBack(base kv.Tx, epoch uint64) {
	s.mu.Lock()
	if epoch == s.epoch && len(s.idle) < maxIdle {
		s.idle = append(s.idle, base)
		base = nil
	}
	s.mu.Unlock()
	if base != nil {
		base.Rollback()
	}
}

// commit commits what the writer has written.
func (s *Store) commit(own *kv.Layer) error {
	rows := encodeRows(s.position.last, own)
	if len(rows) > maxRows {
		return s.direct(own)
	}
	if err := s.ready(); err != nil {
		return err
	}
	number, err := s.log.Append(wal.Record{Database: s.position.database, Kind: CommitKind, Rows: rows})
	if err != nil {
		return s.failed(err)
	}
	s.mu.Lock()
	s.active.Add(own)
	s.shown = nil
	s.position.last = number
	full := s.active.Bytes() >= s.freeze
	s.mu.Unlock()
	if full {
		s.applySoon()
	}
	return nil
}

// ready waits until there is room for another commit, and has the file say that it needs the
// log. The writer is held.
func (s *Store) ready() error {
	s.mu.Lock()
	full, needs := s.active.Bytes() >= 2*s.freeze, s.needs
	s.mu.Unlock()
	if full {
		if err := s.Apply(); err != nil {
			return err
		}
	}
	if needs {
		return nil
	}
	return s.needLog()
}

// failed settles what became of a record that the log could not take. When everything that
// was committed is in the file and the log has declared the record void, it is refused.
func (s *Store) failed(cause error) error {
	if !errors.Is(cause, wal.ErrUnsettled) && !errors.Is(cause, wal.ErrFailed) {
		return cause
	}
	err := s.Apply()
	if err == nil {
		err = s.log.Renew()
	}
	if err != nil && errors.Is(cause, wal.ErrUnsettled) {
		return fmt.Errorf("%w: %w; to take it back: %w", kv.ErrUnknown, cause, err)
	}
	return fmt.Errorf("write to the log: %v", cause)
}

// direct commits to the file what is too large for the log.
func (s *Store) direct(own *kv.Layer) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	for s.dirty() {
		if err := s.applyFrozen(); err != nil {
			return err
		}
	}
	return s.update(func(tx kv.Tx) error { return putAll(tx, own) })
}

// dirty reports whether something is not in the file.
func (s *Store) dirty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frozen != nil || !s.active.Empty()
}
