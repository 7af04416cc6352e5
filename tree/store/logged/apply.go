package logged

import (
	"errors"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// Apply applies to the file all that was committed before.
func (s *Store) Apply() error {
	s.applying.Lock()
	defer s.applying.Unlock()
	if err := s.applyFrozen(); err != nil {
		return err
	}
	return s.applyFrozen() // what was committed before Apply may have been behind a freeze
}

// applySoon applies in the background, unless that is going on. If it fails, the next commit
// that finds the layer full tries again, and those that find it twice as full wait and fail.
func (s *Store) applySoon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return
	}
	s.busy = true
	s.started.Go(func() {
		s.applying.Lock()
		_ = s.applyFrozen()
		s.applying.Unlock()
		s.mu.Lock()
		s.busy = false
		s.mu.Unlock()
	})
}

// applyFrozen applies the frozen layer, or freezes the active one and applies that.
// applying is held.
func (s *Store) applyFrozen() error {
	frozen, to := s.toApply()
	if frozen == nil {
		return nil
	}
	err := s.update(func(tx kv.Tx) error {
		if err := putAll(tx, frozen); err != nil {
			return err
		}
		return position{s.position.log, s.position.database, to}.write(tx)
	})
	if err != nil {
		return err
	}
	return s.log.Release(s.position.database, to)
}

// toApply returns what is to be applied, and the number of its last record; nil: nothing.
func (s *Store) toApply() (frozen *kv.Layer, to uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen == nil && !s.active.Empty() {
		s.frozen, s.frozenTo = s.active, s.position.last
		s.active, s.shown = new(kv.Layer), nil
	}
	return s.frozen, s.frozenTo
}

// update writes to the file. The frozen layer is in it afterwards, if there was one.
// applying is held.
func (s *Store) update(f func(tx kv.Tx) error) error {
	s.dropIdle(false) // or the pages that they read could not be used
	tx, err := s.file.Begin(true)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.dropIdle(true)
	return nil
}

// dropIdle ends the snapshots that have no reader. applied says that a new epoch begins, in
// which the file has what was frozen.
func (s *Store) dropIdle(applied bool) {
	s.mu.Lock()
	idle := s.idle
	s.idle = nil
	if applied {
		s.frozen, s.shown = nil, nil
		s.epoch++
	}
	s.mu.Unlock()
	for _, tx := range idle {
		tx.Rollback()
	}
}

func putAll(tx kv.Tx, layer *kv.Layer) error {
	for e := range layer.All() {
		var err error
		if e.Value == nil {
			err = tx.Delete(e.Bucket, e.Key)
		} else {
			err = tx.Put(e.Bucket, e.Key, e.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Close applies what is not in the file, has it say that it needs no log, and closes it. If
// that fails, the next Open takes it from the log.
func (s *Store) Close() error {
	s.writer.Lock()
	defer s.writer.Unlock()
	s.started.Wait()
	err := s.Apply()
	if err == nil && s.needs {
		err = s.needNoLog()
	}
	s.dropIdle(false)
	return errors.Join(err, s.file.Close())
}
