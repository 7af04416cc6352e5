package wal

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/dogwooddb/dogwood/tree/store/internal/disk"
)

// has reports whether readers may trust what they have read in a segment.
func (l *Log) has(id uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.segments, func(s *segment) bool { return s.id == id && !s.going })
}

// Databases returns the databases with records that are not released, or whose files need the
// log, and the number of the last record of each.
func (l *Log) Databases() map[uint64]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[uint64]uint64)
	for db, s := range l.states {
		all[db] = s.Last
	}
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

// recycle takes the oldest segments out of the log, for as long as they are released.
//
// Only the oldest segment can go, since recovery joins segments one behind the other. So
// one database that does not release its records holds all segments behind them: that is
// why the largest and the oldest are applied, and why records of missing files are kept
// elsewhere (see Keep).
func (l *Log) recycle() error {
	l.recycling.Lock()
	defer l.recycling.Unlock()
	for {
		l.mu.Lock()
		old := l.oldest()
		if old == nil || l.closed || l.o.ReadOnly {
			l.mu.Unlock()
			return nil
		}
		if failures := givenUp(l); len(failures) > 0 {
			l.mu.Unlock()
			if err := removeFailures(l, failures); err != nil {
				return err
			}
			continue
		}
		old.going = true // before its file is: it stays so after an error, as the file may be gone
		l.mu.Unlock()
		if err := l.pool.add(old); err != nil {
			return err
		}
		l.mu.Lock()
		l.segments = l.segments[1:]
		for db, last := range old.of {
			l.trimmed[db] = last
		}
		l.mu.Unlock()
	}
}

// givenUp returns the segments that could not be begun, and that the control file does not
// know: it knows the newest segment, that came afterwards. mu is held.
func givenUp(l *Log) (list []*segment) {
	for _, s := range l.failures {
		if s.first <= l.segments[len(l.segments)-1].first {
			list = append(list, s)
		}
	}
	return list
}

// removeFailures removes what is left of such segments. They have the first number of one that
// could be begun, so they must not be there when that one is gone.
func removeFailures(l *Log, list []*segment) error {
	for _, s := range list {
		if err := l.disk.Remove(s.name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = slices.DeleteFunc(l.failures, func(s *segment) bool { return slices.Contains(list, s) })
	return nil
}

// Shrink gives room of a full disk back: spare files, segments that are released, also those
// that stay for readers, and what is empty of the newest one. all says whether it also gives
// what is in reserve. That is for what frees room in the end: were it for all that is stored,
// a large write would take it, and a full disk could not be left again.
func (l *Log) Shrink(all bool) error {
	l.take()
	defer l.pass()
	return l.shrink(all)
}

// shrink is Shrink. The caller has the writing.
func (l *Log) shrink(all bool) error {
	l.mu.Lock()
	if n := len(l.segments); n > 0 && l.current && !l.closed {
		s := l.segments[n-1]
		l.current = false // a write could fail there
		s.holes = true
		if err := disk.Punch(s.file, s.end, s.bytes-s.end); err != nil {
			l.mu.Unlock()
			return err
		}
	}
	l.scarce = true
	l.mu.Unlock()
	err := errors.Join(l.pool.shrink(all), l.recycle())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scarce = false
	return err
}

// oldest returns the oldest segment if it need not stay. The newest one stays, and so does the
// one that the control file knows. mu is held.
func (l *Log) oldest() *segment {
	if len(l.segments) < 2 || l.segments[0].id == l.control.newest {
		return nil
	}
	old := l.segments[0]
	for db, last := range old.of {
		if last > l.released[db] {
			return nil
		}
	}
	if !l.scarce && (l.kept() || l.held(old)) {
		return nil
	}
	return old
}

// bytes returns the size of the log. mu is held.
func (l *Log) bytes() (n int64) {
	for _, s := range l.segments {
		n += s.bytes
	}
	return n
}

// kept reports whether the oldest segment stays for readers that may come. Its newest record
// is not older than the segment behind it.
func (l *Log) kept() bool {
	age := l.o.Now().Sub(l.segments[1].begun)
	return l.bytes() <= l.o.KeepBytes && (l.o.KeepAge == 0 || age < l.o.KeepAge)
}

// held reports whether a segment stays for a reader that has a Hold.
func (l *Log) held(s *segment) bool {
	if l.bytes() > l.o.HoldBytes {
		return false
	}
	for h := range l.holds {
		if s.last > h.number {
			return true
		}
	}
	return false
}

// A Hold keeps the records behind a number in the log for a reader that is under way, up to
// the bound of Options.HoldBytes. It is a wish and no promise: beyond HoldBytes the
// segments go, because a reader that stands still must not fill the disk. It gets
// ErrTrimmed then.
type Hold struct {
	log    *Log
	number uint64
}

// Hold keeps what comes behind a number.
func (l *Log) Hold(number uint64) *Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &Hold{l, number}
	l.holds[h] = struct{}{}
	return h
}

// Move gives up the records up to a number.
func (h *Hold) Move(number uint64) {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	h.number = max(h.number, number)
}

// End gives up all records.
func (h *Hold) End() {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	delete(h.log.holds, h)
}
