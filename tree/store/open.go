package store

import (
	"errors"
	"fmt"
	"math"

	"github.com/dogwooddb/dogwood/tree/store/durable"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// Open opens the store in the file, creating it if need be; the empty name
// opens a new store in memory. Only one process can have a file open: the
// error is ErrLocked for a second one, ErrForeign for a file that is no store,
// ErrDamaged for one that is cut short and ErrFormat for another version.
//
// The order of the steps matters. The file is examined and opened first, since
// nothing else says whether it may be read. Then the log is joined, because the
// last commits may be in the log alone. Only after that is the state read and
// the remains of an earlier run are put into the reclaim queue. A file that
// Open itself has made is removed again if a step fails, so that a failed start
// leaves no empty database that a later one would take for real.
func Open(file string, o Options) (*Store, error) {
	s := &Store{
		file:      file,
		options:   o.withDefaults(),
		cache:     newWriteCache(),
		snapshots: snapshotPool{epoch: 1},
		counting:  make(map[uint64]int64),
	}
	if file == "" {
		s.kv = kv.NewMemory()
	} else {
		k, err := kv.OpenFile(file, kv.FileOptions{ReadOnly: o.ReadOnly, NoSync: o.NoSync, OnDamage: s.noteDamage, Name: entryName})
		if err != nil {
			return nil, err
		}
		s.kv, s.bolt, s.options.ReadOnly = k, k, k.ReadOnly()
	}
	if err := s.start(); err != nil {
		err = errors.Join(fmt.Errorf("open %s: %w", s, err), s.closeFile())
		if s.bolt != nil {
			err = errors.Join(err, s.bolt.RemoveFresh(err))
		}
		return nil, err
	}
	return s, nil
}

// start makes a store ready. A file on a disk without room is only read until there is
// some: the next write transaction begins with what could not be written.
//
// The exception is a fresh file: without its first commit it has no format, so there is
// nothing that could be read. An error other than NoRoom is final.
func (s *Store) start() error {
	var err error
	if s.bolt != nil && !s.options.ReadOnly {
		if err = s.bolt.Start(); err != nil && (!durable.NoRoom(err) || s.bolt.Fresh()) {
			return err
		}
	}
	if err := s.joinLog(); err != nil {
		return err
	}
	if s.options.ReadOnly {
		return s.inspect()
	}
	if err == nil {
		err = s.initialize()
	}
	if err == nil {
		err = s.dropRecords()
		if s.logged != nil && err == nil {
			s.logged.StartUpkeep()
		}
		return err
	}
	if !durable.NoRoom(err) || s.bolt.Fresh() {
		return err
	}
	switch unread := s.inspect(); {
	case errors.Is(unread, ErrForeign): // it has nothing yet
		return err
	case unread != nil:
		return unread
	}
	s.unready = true
	return nil
}

// finishStart does what start could not. The writer calls it.
func (s *Store) finishStart() error {
	if !s.unready {
		return nil
	}
	err := s.bolt.Start()
	if err == nil {
		err = s.initialize()
	}
	if s.unready = err != nil; !s.unready && s.logged != nil {
		s.logged.StartUpkeep()
	}
	return err
}

// initialize checks the format of the file, or writes it into a new one.
//
// It commits only if something changed. An idle server that is restarted on a
// full disk must come up, and opening a thousand databases must not cost a
// thousand syncs.
func (s *Store) initialize() error {
	if s.bolt != nil {
		if err := s.begin(s.bolt); err != nil {
			return err
		}
	}
	k, err := s.kv.Begin(true)
	if err != nil {
		return err
	}
	tx := &Tx{store: s, kv: k}
	defer tx.Rollback()
	if err := startState(tx); err != nil {
		return err
	}
	if err := leaveLoads(tx); err != nil {
		return err
	}
	if _, err := tx.Indexes().catalogue(); err != nil {
		return err
	}
	if !tx.dirty && tx.stats.Written == 0 { // there may be no room to write
		s.catalogue.Store(tx.known)
		return nil
	}
	return tx.Commit()
}

// begin writes the format and the first state into a new file, which must be there before
// a log is in front of it.
func (s *Store) begin(file kv.Store) error {
	k, err := file.Begin(true)
	if err != nil {
		return err
	}
	defer k.Rollback()
	format, err := kv.ReadFormat(k)
	if err != nil || format != "" {
		return err
	}
	tx := &Tx{store: s, kv: k}
	if err := startState(tx); err != nil {
		return err
	}
	if err := k.Put(kv.Meta, stateKey, tx.state.encode()); err != nil {
		return err
	}
	return k.Commit()
}

// startState reads the state of a file, or writes that of a new one.
func startState(tx *Tx) (err error) {
	switch format, err := kv.ReadFormat(tx.kv); {
	case err != nil:
		return err
	case format == "":
		tx.state = state{nextID: 1, catalogue: 1}
		tx.dirty = true
		return kv.WriteFormat(tx.kv)
	}
	tx.state, err = readState(tx.kv)
	return err
}

// dropRecords frees the records of commits that earlier versions kept in the file. Nothing
// reads them, so if they are damaged, or there is no room for the commit, they stay.
func (s *Store) dropRecords() error {
	k, err := s.kv.Begin(true)
	if err != nil {
		return err
	}
	defer k.Rollback()
	tx := &Tx{store: s, kv: k}
	if n, _, err := edits(tx).deleteRange(kv.Journal, nil, nil, math.MaxInt); err != nil || n == 0 {
		return nil
	}
	if err := k.Commit(); err != nil && !durable.NoRoom(err) {
		return err
	}
	return nil
}

// inspect is initialize for a file that is not to be changed.
func (s *Store) inspect() error {
	k, err := s.kv.Begin(false)
	if err != nil {
		return err
	}
	tx := &Tx{store: s, kv: k}
	defer tx.Rollback()
	switch format, err := kv.ReadFormat(k); {
	case err != nil:
		return err
	case format == "":
		return ErrForeign
	}
	_, err = readState(k)
	return err
}

func readState(k kv.Tx) (state, error) {
	v, err := k.Get(kv.Meta, stateKey)
	if err != nil {
		return state{}, err
	}
	return decodeState(v)
}

// Begin begins a transaction. There is one write transaction at a time: Begin
// waits for the other to end. Every transaction must be ended by Commit or
// Rollback.
//
// A read transaction never waits for the write transaction. It is one of a
// state that is durable: kv shows no state before its sync has succeeded.
func (s *Store) Begin(writable bool) (*Tx, error) {
	if writable {
		return s.beginWrite()
	}
	snap, ok := s.snapshots.take()
	if !ok {
		k, err := s.kv.Begin(false)
		if err != nil {
			return nil, err
		}
		snap.kv = k
		if snap.state, err = readState(k); err != nil {
			k.Rollback()
			return nil, err
		}
	}
	return &Tx{store: s, kv: snap.kv, state: snap.state, epoch: snap.epoch}, nil
}

// The cache is taken before the snapshots are dropped and before kv is asked: from here to
// leaveCache there is exactly one writer, also while kv waits for a reader or for the log.
func (s *Store) beginWrite() (*Tx, error) {
	if s.options.ReadOnly {
		return nil, ErrReadOnly
	}
	s.cache.taken.Lock()
	s.snapshots.enter()
	tx := &Tx{store: s, cache: s.cache}
	if err := s.finishStart(); err != nil {
		leaveCache(tx, false)
		return nil, err
	}
	k, err := s.kv.Begin(true)
	if err != nil {
		leaveCache(tx, false)
		return nil, err
	}
	if tx.kv = k; s.logged == nil { // a log sorts in any case
		tx.kv = kv.SortWrites(k)
	}
	if tx.state, err = readState(k); err != nil {
		tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// View calls f with a read transaction.
func (s *Store) View(f func(*Tx) error) error {
	tx, err := s.Begin(false)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return f(tx)
}

// Update calls f with a write transaction and commits it, unless f fails.
func (s *Store) Update(f func(*Tx) error) error {
	tx, err := s.Begin(true)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Commit makes the transaction's writes durable and visible: when it returns,
// they are on disk. On an error nothing of them is, and nobody has seen anything of
// them, unless the error is ErrUnknown.
//
// The order: the file must still have its name, since a commit to a file that was removed
// or replaced would be lost with the last descriptor. Then the numbers of children and
// the state are written, because they are known only now. Then kv commits. State that is shared
// with later transactions (catalogue, work, counting, the write cache) is changed only
// after kv has succeeded, so that a failed commit leaves memory as it was.
//
// The name is checked once more at the end. If the file was replaced while kv was
// committing, it cannot be told which of the files has the commit: hence ErrUnknown and
// not a refusal. The store has it and goes on from it, which ErrMoved says.
func (tx *Tx) Commit() error {
	if err := tx.store.InPlace(); err != nil {
		tx.Rollback()
		return err
	}
	if err := countsOf(tx).write(); err != nil {
		tx.Rollback()
		return err
	}
	if tx.dirty {
		if err := tx.kv.Put(kv.Meta, stateKey, tx.state.encode()); err != nil {
			tx.Rollback()
			return err
		}
	}
	if err := tx.kv.Commit(); err != nil {
		tx.Rollback()
		return err
	}
	if tx.known != nil && tx.known.version == tx.state.catalogue {
		if tx.store.catalogue.Swap(tx.known) != tx.known {
			tx.store.reads.Keep(tx.known.includes)
		}
	}
	if tx.work {
		tx.store.work.Store(true)
	}
	countsOf(tx).committed()
	leaveCache(tx, true)
	if err := tx.store.InPlace(); err != nil { // replaced meanwhile: the name may not have the commit
		return fmt.Errorf("%w: %w: %w", ErrUnknown, ErrMoved, err)
	}
	return nil
}

// Rollback ends the transaction without its writes. After Commit it does
// nothing.
func (tx *Tx) Rollback() {
	if tx.snapshot != nil {
		tx.snapshot.Rollback()
		tx.snapshot, tx.cache = nil, nil
		return
	}
	if tx.epoch == 0 {
		tx.kv.Rollback()
		leaveCache(tx, tx.stats.Written == 0)
		return
	}
	if tx.kv != nil {
		tx.store.snapshots.give(snapshot{tx.kv, tx.state, tx.epoch})
		tx.kv = nil // another has it now
	}
}

// leaveCache ends a write transaction. Rows that it read are still what they were
// if it was committed or wrote nothing.
func leaveCache(tx *Tx, valid bool) {
	if tx.cache != nil {
		tx.store.snapshots.leave()
		tx.cache.leave(valid)
		tx.cache = nil
	}
}
