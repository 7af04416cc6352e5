package store

import (
	"fmt"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A ScrubPlace is how far a scrub is. The zero place is the beginning.
type ScrubPlace struct {
	bucket int
	key    []byte
}

// Scrub verifies the pages and the checksums of entries from a place on, about as
// many bytes as it is told, and returns the place behind them and what it read. At the
// end that is the zero place. Damage is counted, and told to Options.OnDamage.
//
// It reads a bounded number of bytes in each transaction, because a transaction that
// stays open keeps pages from being used again. So a scrub of a file that is written to
// sees several states, each part of it a consistent one.
func (tx *Tx) Scrub(from ScrubPlace, size int) (next ScrubPlace, read int) {
	t, ok := kv.FileOf(tx.kv)
	if !ok {
		return ScrubPlace{}, 0
	}
	for next = from; next.bucket < len(kv.Buckets); next = (ScrubPlace{bucket: next.bucket + 1}) {
		var n int
		if next.key, n = t.Scrub(kv.Buckets[next.bucket], next.key, size-read); next.key != nil {
			return next, read + n
		}
		read += n
	}
	return ScrubPlace{}, read
}

// Start reports whether a place is the beginning.
func (p ScrubPlace) Start() bool { return p.bucket == 0 && p.key == nil }

// Upgrade gives about budget entries of a file of an older format the checksums that
// they lack, in a transaction of its own, and reports whether there are more. Call it
// when there is nothing better to do.
func (s *Store) Upgrade(budget int) (more bool, err error) {
	k := s.bolt
	if k == nil || !k.Plain() || s.options.ReadOnly {
		return false, nil
	}
	tx, err := s.Begin(true)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	t, ok := kv.FileOf(tx.kv)
	if !ok {
		return false, nil
	}
	if more, err = t.Upgrade(budget); err != nil {
		return false, fmt.Errorf("add checksums to %s: %w", s, err)
	}
	if err := tx.Commit(); err != nil {
		return false, err
	}
	if !more {
		k.NoteUpgraded()
	}
	return more, nil
}

// KeepCount counts the children of the container at p, if it is one whose number is
// not kept yet, and keeps it from then on. Others can write meanwhile: what they
// change is added in the end.
//
// It takes three transactions. A short write transaction notes in counting that writers
// have to add up what they change. A read transaction of that same state counts, for as
// long as it takes. A second write transaction stores the sum of both. To begin the read
// transaction inside of the write transaction is what makes the two agree: no commit can
// come between them.
func (s *Store) KeepCount(p tree.Path, interrupt func() error) error {
	id, reader, err := s.beginCount(p)
	if err != nil || reader == nil {
		return err
	}
	reader.Interrupt = interrupt
	n, err := read(reader).countAll(id, 0)
	reader.Rollback()
	return s.Update(func(tx *Tx) error {
		changed, wanted := s.counting[id]
		delete(s.counting, id)
		if err != nil || !wanted {
			return err
		}
		if r, _, err := tx.find(p); err != nil || r.tag != tagContainer || r.id != id {
			return err // it is gone, and may have been reclaimed
		}
		if n += int(changed); n > 0 {
			countsOf(tx).set(id, int64(n))
		}
		return nil
	})
}

// beginCount returns a transaction in which to count, and has those who write note
// what they change from that state on. There is none if there is nothing to count.
func (s *Store) beginCount(p tree.Path) (id uint64, reader *Tx, err error) {
	tx, err := s.Begin(true)
	if err != nil {
		return 0, nil, err
	}
	defer tx.Rollback()
	r, _, err := tx.find(p)
	if err != nil || r.tag != tagContainer {
		return 0, nil, err
	}
	_, known, err := countsOf(tx).kept(r.id)
	if _, counting := s.counting[r.id]; err != nil || known || counting {
		return 0, nil, err
	}
	if reader, err = s.Begin(false); err == nil {
		s.counting[r.id] = 0
	}
	return r.id, reader, err
}
