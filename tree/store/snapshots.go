package store

import (
	"sync"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A snapshot is a read transaction of the key-value store, with the counts that
// every transaction begins by reading.
type snapshot struct {
	kv    kv.Tx
	state state
	epoch uint64 // of the snapshot pool when it began, never 0
}

// A snapshotPool has the snapshots that no transaction reads just now. To begin one
// costs more than to read a small value, so those that have ended serve again while no
// write transaction runs. During one the pool is empty: an open snapshot keeps pages from
// being reused, and a writer whose file outgrew its map waits for it.
//
// Epochs make the check cheap. A snapshot may be used again exactly if no write
// transaction has begun since it began, and the epoch changes whenever one begins or
// ends.
type snapshotPool struct {
	mu      sync.Mutex
	writing bool   // there is a write transaction
	epoch   uint64 // changes when one begins or ends
	idle    []snapshot
	closed  bool
}

// maxSnapshots bounds how many snapshots are kept of one store. Readers beyond
// that begin transactions of their own, and end them.
const maxSnapshots = 16

// take returns a snapshot of the current state, if there is one. Otherwise the
// caller begins one, of the returned epoch.
func (s *snapshotPool) take() (snap snapshot, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.idle) - 1
	if n < 0 {
		return snapshot{epoch: s.epoch}, false
	}
	snap = s.idle[n]
	s.idle[n] = snapshot{}
	s.idle = s.idle[:n]
	return snap, true
}

// give takes a snapshot back. It ends it unless it is still of the current state.
func (s *snapshotPool) give(snap snapshot) {
	if !s.keep(snap) {
		snap.kv.Rollback()
	}
}

// keep reports whether the snapshot is kept. In its epoch nobody has written if
// nobody does now, since the epoch changes whenever that begins or ends.
func (s *snapshotPool) keep(snap snapshot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.writing || snap.epoch != s.epoch || len(s.idle) == maxSnapshots {
		return false
	}
	s.idle = append(s.idle, snap)
	return true
}

// enter must be called before a write transaction begins, and leave when it has
// ended.
func (s *snapshotPool) enter() { s.drop(func() { s.writing = true }) }

func (s *snapshotPool) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = false
	s.epoch++
}

// close ends what is kept; from now on nothing is.
func (s *snapshotPool) close() { s.drop(func() { s.closed = true }) }

// drop makes a change and ends what was kept before. They are ended outside of
// the lock, since kv may take its own.
func (s *snapshotPool) drop(change func()) {
	s.mu.Lock()
	idle := s.idle
	s.idle = nil
	s.epoch++
	change()
	s.mu.Unlock()
	for _, snap := range idle {
		snap.kv.Rollback()
	}
}
