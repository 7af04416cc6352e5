package logged

import (
	"errors"
	"iter"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// Apply applies to the file all that was committed before.
func (s *Store) Apply() error {
	s.applying.Lock()
	defer s.applying.Unlock()
	return s.applyBoth()
}

// leave has the file, which has everything, say that it does not need the log, which takes
// no records.
func leave(s *Store) error {
	s.committing.Lock() // a commit that comes has it say that it does
	defer s.committing.Unlock()
	return s.needNone()
}

// applyBoth applies what is frozen, and what was committed since. applying is held.
func (s *Store) applyBoth() error {
	if err := s.applyFrozen(); err != nil {
		return err
	}
	s.mu.Lock()
	s.toFreeze()
	s.mu.Unlock()
	return s.applyFrozen()
}

// Paused calls f while nothing is written to the file.
func (s *Store) Paused(f func() error) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	return f()
}

// Settled calls f with a read transaction while everything that was committed before is in the
// file, and nothing is written to the file.
func (s *Store) Settled(f func(tx kv.Tx) error) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	if err := s.applyBoth(); err != nil {
		return err
	}
	base, err := s.file.Begin(false) // an idle one may be older than the last upkeep
	if err != nil {
		return err
	}
	s.mu.Lock()
	t := &Tx{store: s, epoch: s.epoch}
	t.Base, t.Layers = base, s.layers(false)
	s.mu.Unlock()
	defer t.Rollback()
	return f(t)
}

// Snapshot returns a transaction of the file that has everything that was committed before.
// A copy of the file as of it needs no log.
func (s *Store) Snapshot() (kv.Tx, error) {
	if err := s.Apply(); err != nil { // most of it, while commits go on
		return nil, err
	}
	s.writer.Lock()
	defer s.writer.Unlock()
	if err := s.complete(); err != nil {
		return nil, err
	}
	return s.file.Begin(false)
}

// complete applies everything and has the file say that it needs no log, which then need not keep any
// record: those without rows are released by nothing that applies. The writer is held.
func (s *Store) complete() error {
	err := s.Apply()
	if err == nil {
		err = s.needNone()
	}
	if err == nil {
		p, _ := stand(s)
		_ = s.log.wal.Release(p.database, p.last) // the next one does it as well
	}
	return err
}

// StartUpkeep has the background look for upkeep.
func (s *Store) StartUpkeep() {
	s.upkeep.look()
	s.background()
}

// applySoon applies in the background. done is called afterwards unless it is nil. It reports
// false if the store is being closed.
func (s *Store) applySoon(done func()) bool {
	s.mu.Lock()
	s.wanted = true
	if done != nil {
		s.done = append(s.done, done)
	}
	s.mu.Unlock()
	return s.background()
}

// applyOld applies commits that have become old, and tries again what failed.
func (s *Store) applyOld() {
	s.upkeep.retry()
	s.mu.Lock()
	s.resting = true
	s.mu.Unlock()
	s.applySoon(nil)
}

// background has the background work, unless it does.
func (s *Store) background() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	if !s.busy {
		s.busy = true
		s.started.Go(s.work)
	}
	return true
}

// work applies and does upkeep, until there is nothing to do or something fails. After that
// the next commit that finds active full tries again, those that find it twice as full wait
// and fail, and so does what comes after applyAfter.
//
// At most one goroutine of a store runs it (busy). It is started by need and ends when
// there is nothing to do, so an idle database has no goroutine. An error does not end the
// store: nothing is lost, because the log has the commits, and the next try comes at the
// latest after applyAfter.
func (s *Store) work() {
	for {
		s.mu.Lock()
		apply, done, rest := s.wanted, s.done, s.resting
		upkeep, first := s.upkeep.due(s.active.Bytes() < s.speed.full()/4)
		if first && !s.closing {
			apply, done, rest = false, nil, false // soon
		} else {
			s.wanted, s.done, s.resting = false, nil, false
		}
		if s.closing || !apply && !upkeep {
			s.busy = false
			s.mu.Unlock()
			call(done)
			return
		}
		s.mu.Unlock()
		err := s.step(apply)
		if err == nil && rest {
			err = s.rest()
		}
		call(done)
		if err != nil {
			s.upkeep.rest()
			s.mu.Lock()
			s.aging.Reset(applyAfter)
			s.mu.Unlock()
		}
	}
}

// rest has the file say that it needs no log, if there was no commit for a while: then a copy
// of the file is complete, and so is the file if the process is killed. While there is a write
// transaction, which may commit nothing, that has to wait.
func (s *Store) rest() error {
	if !s.writer.TryLock() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closing {
			s.aging.Reset(applyAfter)
		}
		return nil
	}
	defer s.writer.Unlock()
	s.mu.Lock()
	rest := s.needs && s.frozen == nil && s.active.Empty()
	s.mu.Unlock()
	if !rest {
		return nil
	}
	if err := s.needNone(); err != nil {
		return err
	}
	p, _ := stand(s)
	return s.log.wal.Release(p.database, p.last) // records without rows, too
}

func call(list []func()) {
	for _, f := range list {
		f()
	}
}

// step applies what is frozen, or else what was committed, or does upkeep alone.
func (s *Store) step(apply bool) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	if !apply {
		run := func() error { return s.update(s.upkeep.run) }
		return s.log.again(run(), true, run)
	}
	s.mu.Lock()
	s.toFreeze()
	s.mu.Unlock()
	return s.applyFrozen()
}

// applyFrozen applies the frozen layer. applying is held.
//
// Only after the last transaction is the log told (Release) that it need not
// keep the records. If the file has no room, the log gives back what it does
// not need, and the layer is applied once more without upkeep, in small transactions: the
// pages that one replaces are free only when it has ended. If upkeep fails,
// the layer is applied without it: to free garbage must never prevent that
// commits reach the file.
func (s *Store) applyFrozen() error {
	s.mu.Lock()
	frozen, to, upkeep := s.frozen, s.frozenTo, s.upkeep.do != nil && !s.closing
	s.mu.Unlock()
	if frozen == nil {
		return nil
	}
	began := time.Now()
	err := s.putAll(frozen, to, s.upkeep.atOnce, upkeep)
	err = s.log.again(err, true, func() error { return s.putAll(frozen, to, minAtOnce, false) })
	if errors.Is(err, errUpkeep) {
		upkeep = false
		err = s.putAll(frozen, to, s.upkeep.atOnce, false)
	}
	if err != nil {
		s.mu.Lock()
		s.endWait()
		s.mu.Unlock()
		return err
	}
	s.newEpoch(true)
	s.upkeep.owe(frozen.Len())
	s.mu.Lock()
	s.speed.perByte = float64(time.Since(began)) / float64(max(frozen.Bytes(), minPaced))
	s.mu.Unlock()
	s.log.grow(-frozen.Bytes())
	return s.log.wal.Release(s.position.database, to)
}

// minPaced is from how many bytes on it counts how long each takes to be applied: of few, the
// sync takes the time.
const minPaced = 256 << 10

// A layer is applied in transactions of some entries each, one for each freezeShare bytes of a
// full layer, so that none takes a processor for long, and gives way after each yieldAfter. Until
// the last one the file has a part of the entries. That shows nowhere: for readers the layer
// is in front of the file, and the file says that it lacks all of it.
const (
	freezeShare = 4096
	minAtOnce   = 4
	yieldAfter  = 64
)

// beforeReclaim are the buckets that go into the file before the reclaim queue does: all that a
// layer puts there comes in its last transaction. Upkeep may come in front of that, after a
// failure or a crash. If it freed by then what the layer unlinks, the rows that the layer puts
// there would come again with all of the layer, and nothing would free them.
var beforeReclaim = slices.DeleteFunc(slices.Clone(kv.Buckets[:]), func(b kv.Bucket) bool { return b == kv.Reclaim })

// putAll puts the entries of a layer that ends at a record, so many in a transaction, and then
// does upkeep unless it must not.
func (s *Store) putAll(layer *kv.Layer, to uint64, atOnce int, upkeep bool) (err error) {
	next, stop := iter.Pull(layer.Of(beforeReclaim...))
	defer stop()
	unlinked, stopUnlinked := iter.Pull(layer.Of(kv.Reclaim))
	defer stopUnlinked()
	for more := true; more && err == nil; {
		err = s.update(func(tx kv.Tx) (err error) {
			if more, err = putSome(tx, next, atOnce); more || err != nil {
				return err
			}
			if _, err = putSome(tx, unlinked, math.MaxInt); err != nil {
				return err
			}
			err = position{s.position.log, s.position.database, s.position.line, to}.write(tx, true)
			if err == nil && upkeep {
				err = s.upkeep.run(tx)
			}
			return err
		})
	}
	return err
}

// putSome puts the next entries of a layer, up to atOnce, and reports whether there are more.
func putSome(tx kv.Tx, next func() (kv.Entry, bool), atOnce int) (more bool, err error) {
	for n := range atOnce {
		e, ok := next()
		if !ok {
			return false, nil
		}
		if n%yieldAfter == yieldAfter-1 {
			runtime.Gosched()
		}
		if err := put(tx, e); err != nil {
			return false, err
		}
	}
	return true, nil
}

// toFreeze freezes what was committed, unless something is frozen or nothing was. mu is held.
// The new active layer takes commits at once, so writers wait for the file only when both are
// full.
func (s *Store) toFreeze() {
	if s.frozen == nil && !s.active.Empty() {
		s.frozen, s.frozenTo, s.frozenSince = s.active, s.position.last, s.since
		s.active, s.shown = new(kv.Layer), nil
		s.applied = make(chan struct{})
		s.aging.Stop()
	}
}

// update writes to the file. applying is held.
func (s *Store) update(f func(tx kv.Tx) error) error {
	s.dropIdle() // or the pages that they read could not be used
	tx, err := s.file.Begin(true)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// newEpoch notes that the file has changed for readers. applied says that it has what
// was frozen.
func (s *Store) newEpoch(applied bool) {
	s.mu.Lock()
	if applied {
		s.frozen, s.shown = nil, nil
		s.endWait()
	}
	s.epoch++
	s.provided = 0 // what was set aside has been written to
	idle := s.idle // none of an old epoch may be taken in the new one
	s.idle = nil
	s.mu.Unlock()
	end(idle)
}

// endWait has those go on that wait for frozen. mu is held.
func (s *Store) endWait() {
	s.room.tell()
	if s.applied != nil {
		close(s.applied)
		s.applied = nil
	}
}

// dropIdle ends the snapshots that have no reader.
func (s *Store) dropIdle() {
	s.mu.Lock()
	idle := s.idle
	s.idle = nil
	s.mu.Unlock()
	end(idle)
}

func end(list []kv.Tx) {
	for _, tx := range list {
		tx.Rollback()
	}
}

// put puts an entry of a layer, or deletes it.
func put(tx kv.Tx, e kv.Entry) error {
	if e.Value == nil {
		return tx.Delete(e.Bucket, e.Key)
	}
	return tx.Put(e.Bucket, e.Key, e.Value)
}

// Close applies what is not in the file, has it say that it needs no log, and closes it. If
// that fails, the next Open takes it from the log.
func (s *Store) Close() error {
	s.writer.Lock()
	defer s.writer.Unlock()
	s.stop()
	var err error
	if !s.file.ReadOnly() && !s.log.readOnly {
		err = s.complete()
	}
	s.dropIdle()
	err = errors.Join(err, s.file.Close())
	s.log.remove(s)
	return err
}

// Detach ends the store and leaves its file open.
func (s *Store) Detach() {
	s.stop()
	s.dropIdle()
	s.log.remove(s)
}

// stop ends what goes on in the background.
func (s *Store) stop() {
	s.mu.Lock()
	s.closing = true
	s.followers.tell()
	s.aging.Stop()
	s.mu.Unlock()
	s.started.Wait()
}
