package wal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/internal/disk"
)

// Open opens the log in a directory, which need not exist: a log without records has no
// files. Only one process may have it open, unless all of them only read it. That is for the
// caller to see to.
//
// The error is a *DamageError if records are missing or damaged, or wraps ErrFormat.
func Open(dir string, o Options) (*Log, error) {
	l, err := OpenOn(disk.Directory(dir), o)
	if err != nil {
		return nil, fmt.Errorf("open the log in %s: %w", dir, err)
	}
	return l, nil
}

// OpenOn is Open for a disk.
func OpenOn(d disk.Disk, o Options) (*Log, error) {
	l := newLog(d, o)
	if err := l.recover(); err != nil {
		for _, s := range l.segments {
			err = errors.Join(err, s.file.Close())
		}
		return nil, err
	}
	return l, nil
}

// newLog returns a log that is to be recovered.
func newLog(d disk.Disk, o Options) *Log {
	l := &Log{disk: d, o: o.withDefaults(), next: 1, group: newGroup(nil), idle: markAfter,
		states: make(states), released: make(map[uint64]uint64), trimmed: make(map[uint64]uint64), holds: make(map[*Hold]struct{})}
	l.turn.L = &l.mu
	l.pool.disk, l.pool.bytes = d, l.o.SegmentBytes
	l.mark = time.AfterFunc(math.MaxInt64, l.writeMark) // not while the log is read, however long that takes
	l.mark.Stop()
	return l
}

// recover finds what the log has. New records come into a new segment: what follows the
// last record of the newest one may be a part of records that were never acknowledged.
//
// It reads all segments as a whole, so it takes as long as the disk takes to read the
// log.
func (l *Log) recover() error {
	names, err := l.disk.List()
	if err != nil {
		return err
	}
	c, err := l.readControl(names)
	if err != nil {
		return err
	}
	l.control = c
	if c.newest != 0 {
		l.watched.control = disk.Watch(l.disk, controlFile, nil)
	}
	found, err := openSegments(l, names)
	if err != nil {
		return err
	}
	if err := l.join(found, c.newest); err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, poolSuffix) && !l.o.ReadOnly {
			if err := l.disk.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// readControl reads the control file. A log without one has no segments.
func (l *Log) readControl(names []string) (c control, err error) {
	text, err := l.disk.Read(controlFile)
	if errors.Is(err, fs.ErrNotExist) {
		for _, name := range names {
			if strings.HasSuffix(name, segmentSuffix) {
				return c, &DamageError{Segment: controlFile, Reason: "it is missing"}
			}
		}
		return control{owner: randomID()}, nil
	}
	if err != nil {
		return c, err
	}
	if c, err = readControl(text); err != nil && !errors.Is(err, ErrFormat) {
		err = &DamageError{Segment: controlFile, Reason: err.Error()}
	}
	return c, err
}

// openSegments opens the segments in the order of their numbers.
func openSegments(l *Log, names []string) (found []*segment, err error) {
	for _, name := range names {
		if !strings.HasSuffix(name, segmentSuffix) {
			continue
		}
		s, ok := parseName(name)
		if !ok {
			return found, &DamageError{Segment: name, Reason: "it is not the name of a segment"}
		}
		if s.file, err = l.disk.Open(name, l.o.ReadOnly); err != nil {
			return found, err
		}
		s.holes = true                     // an earlier run may have had a full disk
		l.segments = append(l.segments, s) // to be closed after an error
		if s.bytes, err = s.file.Size(); err != nil {
			return found, err
		}
	}
	found = slices.Clone(l.segments)
	// Of several segments with the same first number all but one were given up before they
	// had a record, and are short of it.
	for _, s := range found {
		if err := l.scan(s); err != nil {
			return nil, err
		}
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last)) < 0
	})
	return found, nil
}

// join reads the segments and refuses a log that lacks some. follows of each
// segment says where the one before it ended as far as it counts. Records
// behind that were written, failed, and are void.
func (l *Log) join(found []*segment, newest uint64) error {
	l.segments = l.segments[:0]
	for i, s := range found {
		var err error
		if i == 0 { // what was in front of it is released
			l.settled = s.follows
		}
		if s.follows > l.settled {
			err = &DamageError{Segment: s.name(), Last: l.settled, Reason: fmt.Sprintf(
				"the records up to number %d should be in front of it", s.follows)}
		}
		if s.follows < l.settled {
			err = l.void(s.follows)
		}
		l.segments = append(l.segments, s)
		if err != nil {
			l.segments = append(l.segments, found[i+1:]...) // to be closed
			return err
		}
		l.next = s.last + 1
		if s.last >= s.first {
			l.settled = s.last
		}
	}
	return l.complete(newest)
}

// complete checks that the newest segment that the control file knows is there, and makes
// sure that what was found is on the disk: a process that was killed may have left it in the
// memory of the system. If a sync failed before, the system takes it for written, and another
// sync alone would write nothing. So the records that may be meant are written again. These are
// the last ones that were written by one call: no segment gets more after a failure.
func (l *Log) complete(newest uint64) error {
	there := newest == 0
	for _, s := range l.segments {
		there = there || s.id == newest
	}
	if !there {
		return &DamageError{Segment: controlFile, Last: l.settled, Reason: fmt.Sprintf("segment %016x is missing", newest)}
	}
	if n := len(l.segments); n > 0 {
		l.states = l.segments[n-1].said
	}
	if n := len(l.segments); n > 0 && !l.o.ReadOnly {
		return l.segments[n-1].writeBack()
	}
	return nil
}

// writeBack has the disk have what the system shows.
func (s *segment) writeBack() error {
	b := make([]byte, s.end-s.tail)
	if _, err := s.file.ReadAt(b, s.tail); err != nil {
		return err
	}
	if _, err := s.file.WriteAt(b, s.tail); err != nil {
		return err
	}
	return s.file.Sync()
}

// void forgets the records above a number.
func (l *Log) void(follows uint64) error {
	for _, s := range l.segments {
		if s.last > max(follows, s.first-1) {
			if err := l.cut(s, follows); err != nil {
				return err
			}
		}
	}
	l.settled = follows
	return nil
}

// scan finds the records of a segment.
func (l *Log) scan(s *segment) error { return l.cut(s, ^uint64(0)) }

// cut is scan for the records up to a number.
func (l *Log) cut(s *segment, upTo uint64) error {
	b := make([]byte, s.bytes)
	if _, err := s.file.ReadAt(b, 0); err != nil {
		return err
	}
	if err := s.readHead(b, l.control.owner); err != nil {
		if errors.Is(err, ErrFormat) {
			return fmt.Errorf("%s: %w", s.name(), err)
		}
		return &DamageError{Segment: s.name(), Reason: err.Error()}
	}
	s.end, s.tail, s.last = headBytes, headBytes, s.first-1
	settled := uint64(0)
	clear(s.of)
	clear(s.from)
	s.said = make(states)
	for s.last < upTo {
		r, ok := readRecord(b[s.end:], s.id)
		if !ok || r.Number != s.last+1 {
			return s.torn(b)
		}
		if r.settled > settled {
			s.tail, settled = s.end, r.settled
		}
		if r.Kind == markKind {
			return nil
		}
		s.note(&r.Record, s.end)
		if err := s.said.note(&r.Record); err != nil {
			return &DamageError{Segment: s.name(), At: s.end, Last: s.last - 1, Reason: err.Error()}
		}
		s.end += int64(r.size)
	}
	return nil
}

// torn checks that the records end where the segment has no whole one. They do if what
// follows was never acknowledged: no later record was written when it was on the disk.
// The id of the segment is searched byte by byte, because the length of the unreadable
// record cannot be trusted.
func (s *segment) torn(b []byte) error {
	id := le.AppendUint64(nil, s.id)
	for at := int(s.end); ; at++ {
		i := bytes.Index(b[min(at+8, len(b)):], id)
		if i < 0 {
			return nil
		}
		at += i
		if r, ok := readRecord(b[at:], s.id); ok && r.settled > s.last {
			return &DamageError{Segment: s.name(), At: s.end, Last: s.last, Reason: fmt.Sprintf(
				"record number %d is unreadable, which was on the disk before number %d", s.last+1, r.Number)}
		}
	}
}

// Owner returns the random id of the log in a directory, 0 if there is none.
func Owner(dir string) (uint64, error) {
	text, err := disk.Directory(dir).Read(controlFile)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	c, err := readControl(text)
	if err != nil && !errors.Is(err, ErrFormat) {
		err = &DamageError{Segment: controlFile, Reason: err.Error()}
	}
	if err != nil {
		return 0, fmt.Errorf("the log in %s: %w", dir, err)
	}
	return c.owner, nil
}
