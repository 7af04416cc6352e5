package logged

import (
	"errors"
	"fmt"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/kv"
	"github.com/dogwooddb/dogwood/tree/store/wal"
)

// commit commits what the writer has written. The writer is held.
//
// A dense transaction, or one of many bytes, goes to the file. For all others the
// steps are: wait until there is room in memory (ready), slow down while a
// layer is applied (pace), append to the log, and make the commit visible.
// After that the caller may acknowledge it. If the log has no segment and the
// disk no room for one, the commit goes to the file, which may have free pages.
// Any other failure of the log is settled by failed.
func (s *Store) commit(t *Tx) error {
	own, began := &t.own, time.Now()
	defer func() { s.took.Add(int64(time.Since(began))) }()
	if t.dense || own.Bytes() > maxRows {
		return s.directly(t)
	}
	err := s.ready()
	if err == nil {
		var wait time.Duration
		s.mu.Lock()
		if s.frozen != nil {
			wait = s.speed.pace(own.Bytes(), s.active.Bytes())
		}
		s.mu.Unlock()
		time.Sleep(wait)
		err = s.append(own, t.change)
	}
	switch {
	case noSegment(err):
		return s.direct(own, 0) // the file may have free pages where the disk has no room for a segment
	case err != nil:
		return s.failed(err)
	}
	if s.log.full(1) {
		s.log.relieve()
	}
	return nil
}

// append appends the commit to the log and makes it visible.
//
// The commit becomes visible after the log has it on the disk, and under
// committing, so that the numbers of the records of a database ascend in the
// order in which readers see them. needLog comes first: before a file may lack
// something, the file itself says so, and a copy of it or an older version
// cannot take it for complete.
func (s *Store) append(own *kv.Layer, change []byte) error {
	s.committing.Lock()
	defer s.committing.Unlock()
	if err := provide(s, own.Bytes()); err != nil {
		return err
	}
	if err := s.needLog(); err != nil {
		return err
	}
	rows := encodeRows(s.position.last, own)
	number, err := s.log.wal.Append(wal.Record{Database: s.position.database, Kind: CommitKind, Change: change, Rows: rows})
	if err != nil {
		return err
	}
	s.mu.Lock()
	before := s.active.Bytes()
	s.active.Add(own)
	s.shown = nil
	s.position.last = number
	s.followers.tell()
	grown, full := s.active.Bytes()-before, s.active.Bytes() >= s.speed.full()
	if before == 0 {
		s.since = time.Now()
		s.aging.Reset(applyAfter)
	}
	if full {
		s.toFreeze()
	}
	s.mu.Unlock()
	s.log.grow(grown)
	if full {
		s.applySoon(nil)
	}
	return nil
}

// ready waits until there is room for another commit. The writer is held.
//
// There are two bounds: twice a full layer for this database, and twice the
// memory of the log for all of them. At the second one the largest database is
// applied, which need not be this one (see Log.makeRoom).
func (s *Store) ready() error {
	crowded := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.active.Bytes() >= 2*s.speed.full()
	}
	for crowded() {
		if err := s.makeRoom(); err != nil {
			return err
		}
	}
	return s.log.makeRoom()
}

// A layer is full when it takes about applyTime to be applied: entries whose pages lie far apart
// take hundreds of times as long as neighbours. So what waits for it waits for a bounded time.
const (
	applyTime = 250 * time.Millisecond
	leastFull = 8 // of a layer, as a divisor
)

// A speed is how fast what a store commits is applied. The mu of the store guards it.
type speed struct {
	freeze  int64   // Options.FreezeBytes
	perByte float64 // how long the last bytes took to be applied, in nanoseconds for each
}

// full returns how many bytes fill a layer, going by how long the last one took to be
// applied.
func (s *speed) full() int64 {
	if s.perByte == 0 {
		return s.freeze
	}
	return max(min(int64(float64(applyTime)/s.perByte), s.freeze), s.freeze/leastFull)
}

// maxPace bounds how long one commit is slowed down.
const maxPace = 25 * time.Millisecond

// pace returns how long a commit of so many bytes has to wait while a layer is applied and
// the next one has so many, so that commits come about as fast as they are applied. Without it
// they would come as fast as the log takes them, and then all wait until there is room, the
// small ones of other clients among them.
func (s *speed) pace(size, active int64) time.Duration {
	filled := float64(active) / float64(s.full())
	return min(time.Duration(filled*s.perByte*float64(size)), maxPace)
}

// makeRoom freezes active, when what is being applied has been. If that fails, it tries
// itself, for the error.
func (s *Store) makeRoom() error {
	s.mu.Lock()
	applied, failed := s.applied, s.frozen != nil && s.applied == nil
	s.toFreeze()
	s.mu.Unlock()
	if !failed && s.applySoon(nil) {
		if applied != nil {
			<-applied
		}
		return nil
	}
	s.applying.Lock()
	defer s.applying.Unlock()
	return s.applyFrozen()
}

// failed settles what became of a record that the log could not take. When everything that
// was committed is in the files and the log has declared the record void, it is refused.
//
// A sync that failed says nothing about what the disk has: the record may be there after a
// crash. So the commit must not be refused before a segment is on the disk which says that
// the record is void. While that cannot be written, the answer is kv.ErrUnknown.
func (s *Store) failed(cause error) error {
	if !errors.Is(cause, wal.ErrUnsettled) && !errors.Is(cause, wal.ErrFailed) {
		return cause
	}
	err := s.log.renew()
	if errors.Is(err, wal.ErrReplaced) { // nothing needs the log, so nothing will take the record from it
		return fmt.Errorf("%w: %w", kv.ErrReplaced, causeOf(err))
	}
	if err != nil && errors.Is(cause, wal.ErrUnsettled) {
		return fmt.Errorf("%w: %w; to take it back: %w", kv.ErrUnknown, cause, err)
	}
	return fmt.Errorf("write to the log: %w", errors.Join(causeOf(cause), err))
}

// refused is an error of the log about a record that is void. It is not one of ErrUnsettled
// any more, but still one of what the disk said.
type refused struct{ cause error }

func (e refused) Error() string { return e.cause.Error() }

func (e refused) Is(target error) bool {
	return target != wal.ErrUnsettled && errors.Is(e.cause, target)
}

func causeOf(err error) error { return refused{err} }

// directly commits to the file what is too large for the log, or goes in the order of keys.
// The log has its change alone, which counts when the file has the commit.
func (s *Store) directly(t *Tx) error {
	p, _ := stand(s)
	number, err := s.log.announce(p, t.change)
	if err != nil {
		return s.failed(err)
	}
	return s.direct(&t.own, number)
}

// maxLast is the size of the commits that may take what the log has in reserve, in bytes. Removals
// are so small, and a full disk is left by them.
const maxLast = 16 << 10

// direct commits to the file. number is that of the commit's record in the log; 0: there is
// none. The writer is held.
//
// The order is: records of unknown outcome are made void, everything before the commit is
// applied to the file, and then the file gets the commit. A crash between two of them
// leaves a file that has a prefix of what was acknowledged, which is what recovery expects.
func (s *Store) direct(own *kv.Layer, number uint64) error {
	// A crash could find an earlier record of the store whose outcome is unknown, and put it
	// on top of this commit: it has to be void.
	if cause := s.log.wal.Failed(); cause != nil {
		if err := s.log.renew(); err != nil {
			return fmt.Errorf("the log takes no commits: %w", errors.Join(causeOf(cause), err))
		}
	}
	s.applying.Lock()
	defer s.applying.Unlock()
	if err := s.applyBoth(); err != nil {
		return err
	}
	keepNone := func(none bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unkept = none
	}
	keepNone(true) // no snapshot, else one reader could see the commit and the next one not
	put := func() error { return putDirect(s, own, number) }
	err := s.log.again(put(), own.Bytes() <= maxLast, put)
	s.newEpoch(false)
	keepNone(false)
	if err == nil {
		s.StartUpkeep() // what it has replaced can be freed, and nothing is applied for it
	}
	return err
}

// putDirect puts a commit into the file, which has everything else. From then on the file needs no log,
// so that records that come later do not seem to follow those before it. applying is held.
func putDirect(s *Store, own *kv.Layer, number uint64) error {
	p, needs := stand(s)
	err := s.update(func(tx kv.Tx) error {
		tx.Dense()
		for e := range own.All() {
			if err := put(tx, e); err != nil {
				return err
			}
		}
		p.last = max(p.last, number)
		switch {
		case needs:
			return p.set(tx, false)
		case number > 0:
			return p.write(tx, false)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if number > 0 {
		s.mu.Lock()
		s.position.last = number
		s.followers.tell()
		s.mu.Unlock()
	}
	if needs {
		noteNeed(s, p, false)
	}
	if needs || number > 0 {
		_ = s.log.wal.Release(p.database, p.last) // the next one does it as well
	}
	return err
}
