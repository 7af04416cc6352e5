package logged

import "github.com/dogwooddb/dogwood/tree/store/kv"

// After besideInTurn transactions in turn that went past the log and found commits in memory,
// these are applied. Until then the log keeps all of its segments.
const besideInTurn = 16

// Aside calls f with a transaction of the file and commits it. It takes no writer, so commits
// go on: only those wait that wait for the file.
//
// It is for rows that nothing refers to, of an import. No commit may write to them, and nothing
// may refer to them, before there was a commit that bypassed the log (see Tx.Dense): that
// one waits for the writer, and so everything that begins behind it sees them. From then on
// an older copy of the file, which lacks them, does not fit the log.
//
// size is about how many bytes f puts. They must not take the room that is set aside in the file
// for commits.
//
// A crash before it leaves rows that nothing refers to, in the file alone. The commits of the log are
// put on top of them as if they were not there.
func Aside(s *Store, size int64, f func(tx kv.Tx) error) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	if err := applySometimes(s); err != nil {
		return err
	}
	noteBeside(s, size)
	defer noteBeside(s, 0)
	if err := provide(s, 0); err != nil {
		return err
	}
	var all position
	put := func() error {
		return s.update(func(tx kv.Tx) (err error) {
			tx.Dense()
			if err = f(tx); err != nil {
				return err
			}
			all, err = reach(s, tx)
			return err
		})
	}
	err := s.log.again(put(), false, put)
	s.newEpoch(false)
	if err == nil && all.last > 0 {
		_ = s.log.wal.Release(all.database, all.last) // the next one does it as well
	}
	return err
}

func noteBeside(s *Store, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aside = size
}

// applySometimes applies what is in memory once in a while. applying is held.
func applySometimes(s *Store) error {
	s.mu.Lock()
	none := s.frozen == nil && s.active.Empty()
	s.mu.Unlock()
	if s.inTurn++; none {
		s.inTurn = 0
	}
	if s.inTurn < besideInTurn {
		return nil
	}
	s.inTurn = 0
	return s.applyBoth()
}

// reach has the file say up to which record it has everything, if it has all that was
// committed: an import has many records without rows, which no other step releases. It
// returns the zero position if it lacks something. applying is held.
func reach(s *Store, tx kv.Tx) (position, error) {
	s.mu.Lock()
	p, all := s.position, s.needs && s.frozen == nil && s.active.Empty()
	s.mu.Unlock()
	if !all {
		return position{}, nil
	}
	return p, p.write(tx, true)
}
