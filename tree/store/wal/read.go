package wal

import (
	"errors"
	"io/fs"
	"iter"
	"slices"
)

// Records returns the records of a database with numbers above the given one, oldest first,
// as far as they are on the disk at the call. What a record points to is not used again.
//
// An error ends the records. It is ErrReleased if some were released meanwhile.
func (l *Log) Records(database, after uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, s := range l.having(database, after) {
			b := make([]byte, s.end-headBytes)
			_, err := s.file.ReadAt(b, headBytes)
			if !l.has(s.id) { // it may have been filled again
				err = ErrReleased
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			if !s.each(b, database, after, yield) {
				return
			}
		}
	}
}

// having returns copies of the segments that have such records.
func (l *Log) having(database, after uint64) (list []segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments {
		if s.of[database] > after {
			list = append(list, *s)
		}
	}
	return list
}

func (l *Log) has(id uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.segments, func(s *segment) bool { return s.id == id })
}

// each yields the records of a database that are in b, and reports whether it yielded them
// all.
func (s *segment) each(b []byte, database, after uint64, yield func(Record, error) bool) bool {
	for at := int64(headBytes); len(b) > 0; {
		r, ok := readRecord(b, s.id)
		if !ok {
			yield(Record{}, &DamageError{Segment: s.name(), At: at, Last: after, Reason: "a record is unreadable"})
			return false
		}
		if r.Database == database && r.Number > after && !yield(r.Record, nil) {
			return false
		}
		after = max(after, r.Number)
		at, b = at+int64(r.size), b[r.size:]
	}
	return true
}

// Databases returns the databases with records that are not released, and the number of the
// last one of each.
func (l *Log) Databases() map[uint64]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[uint64]uint64)
	for _, s := range l.segments {
		for db, last := range s.of {
			if last > l.released[db] {
				all[db] = last
			}
		}
	}
	return all
}

// Release says that a database needs no records up to a number any more: what they say is
// durable somewhere else. No record will get a number that was released. Segments that no
// database needs are used again.
func (l *Log) Release(database, number uint64) error {
	l.mu.Lock()
	l.released[database] = max(l.released[database], number)
	known := number < l.next
	l.mu.Unlock()
	if !known {
		l.skip(number)
	}
	return l.recycle()
}

// skip makes sure that a number is not given any more: a record that failed had it, and
// behind it the log was closed before there was another.
func (l *Log) skip(number uint64) {
	l.take()
	defer l.pass()
	l.mu.Lock()
	defer l.mu.Unlock()
	if number >= l.next {
		l.next, l.current = number+1, false
	}
}

// recycle takes the oldest segments out of the log, for as long as nobody needs them.
func (l *Log) recycle() error {
	l.recycling.Lock()
	defer l.recycling.Unlock()
	for {
		l.mu.Lock()
		old, failures := l.oldest(), l.failures
		if old == nil || l.closed {
			l.mu.Unlock()
			return nil
		}
		if len(failures) > 0 {
			l.mu.Unlock()
			if err := l.removeFailures(failures); err != nil {
				return err
			}
			continue
		}
		l.mu.Unlock()
		if err := l.spares.add(old); err != nil {
			return err
		}
		l.mu.Lock()
		l.segments = l.segments[1:]
		l.mu.Unlock()
	}
}

// removeFailures removes what is left of segments that could not be begun. They have the
// first number of one that could, so they must not be there when that one is gone. The
// control file does not know them: it knows the segment that came afterwards.
func (l *Log) removeFailures(names []string) error {
	for _, name := range names {
		if err := l.disk.remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = slices.DeleteFunc(l.failures, func(name string) bool { return slices.Contains(names, name) })
	return nil
}

// oldest returns the oldest segment if nobody needs it. mu is held.
func (l *Log) oldest() *segment {
	if len(l.segments) < 2 || !l.current { // the newest is what the control file knows
		return nil
	}
	for db, last := range l.segments[0].of {
		if last > l.released[db] {
			return nil
		}
	}
	return l.segments[0]
}
