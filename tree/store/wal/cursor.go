package wal

import (
	"cmp"
	"errors"
	"slices"
)

// A Cursor reads the records of one database, oldest first, and those that are appended
// meanwhile. It remembers its place in a segment, so each record is read once. It belongs to
// one goroutine.
//
// The index behind it is in memory: of each segment, the databases that have records in it,
// and where the first one of each is.
//
// It reads without a lock while segments may be recycled under it. So after each read it
// asks whether the segment is still part of the log, and only then trusts what it has read.
type Cursor struct {
	log      *Log
	database uint64
	after    uint64 // number of the last record that was returned
	segment  uint64 // id of the one that is read
	in       *reader
}

// Cursor returns a cursor at the records of a database with numbers above the given one.
func (l *Log) Cursor(database, after uint64) *Cursor {
	return &Cursor{log: l, database: database, after: after}
}

// Find moves the cursor to the last segment whose first record before is true of, and to the
// oldest one if there is none. before must be true of the records up to one, and of none
// behind it. It reads one record of a few segments.
func (c *Cursor) Find(before func(Record) bool) (err error) {
	for range findTries {
		if err = c.find(before); !errors.Is(err, ErrTrimmed) {
			break
		}
	}
	return err
}

// findTries is how often a cursor looks for its place, if segments go while it does.
const findTries = 10

func (c *Cursor) find(before func(Record) bool) error {
	list, _ := c.log.places(c.database, 0)
	var failed error
	n, _ := slices.BinarySearchFunc(list, true, func(p place, _ bool) int {
		in := *p.in // it may be asked twice
		r, ok, err := in.next()
		if !c.log.has(p.in.id) || err == nil && !ok {
			err = ErrTrimmed
		}
		if failed = cmp.Or(failed, err); err == nil && before(r.Record) {
			return -1
		}
		return 1
	})
	c.after, c.in = 0, nil
	if n > 0 {
		c.after = list[n-1].first - 1
	}
	return failed
}

// After returns the number behind which the cursor is.
func (c *Cursor) After() uint64 { return c.after }

// Next returns the next record. ok is false if there is none yet. The error is ErrTrimmed if
// some are gone that the cursor did not return.
func (c *Cursor) Next() (r Record, ok bool, err error) {
	for {
		if c.in == nil {
			if ok, err := c.enter(); !ok {
				return Record{}, false, err
			}
		}
		end, there, lost := c.log.endOf(c.segment, c.database, c.after)
		if !there {
			if lost {
				return Record{}, false, ErrTrimmed
			}
			c.in = nil
			continue
		}
		c.in.end = end
		r, ok, err := c.in.next()
		if (err != nil || ok) && !c.log.has(c.segment) {
			err = ErrTrimmed // what was read may belong to a later segment in the same file
		}
		switch {
		case err != nil:
			return Record{}, false, err
		case ok && r.Database == c.database && r.Number > c.after:
			c.after = r.Number
			return r.Record, true, nil
		case !ok && !c.leave():
			return Record{}, false, nil
		}
	}
}

// enter begins to read the oldest segment that has something for the cursor. It reports false if
// there is none. A cursor that begins with the oldest record misses nothing.
func (c *Cursor) enter() (ok bool, err error) {
	list, lost := c.log.places(c.database, c.after)
	switch {
	case lost && c.after > 0:
		return false, ErrTrimmed
	case len(list) == 0:
		return false, nil
	}
	c.segment, c.in = list[0].in.id, list[0].in
	return true, nil
}

// leave goes on to a later segment, or to what has come into this one. It reports false if
// there is nothing.
func (c *Cursor) leave() bool {
	list, lost := c.log.places(c.database, c.after)
	switch {
	case lost:
		c.in = nil // enter says so
	case len(list) == 0:
		return false
	case list[0].in.id != c.segment:
		c.in = nil
	}
	return true
}

// A place is where the records of a database begin in a segment.
type place struct {
	first uint64 // number of the first record of the segment
	in    *reader
}

// places returns the segments that have records of a database above a number. lost says that one
// that had some is gone, or about to go.
func (l *Log) places(database, after uint64) (list []place, lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost = l.trimmed[database] > after
	for _, s := range l.segments {
		switch {
		case s.of[database] <= after:
		case s.going:
			lost = true
		default:
			p := place{s.first, s.reader()}
			p.in.at = s.from[database]
			list = append(list, p)
		}
	}
	return list, lost
}

// endOf returns how far a segment is written. If it is gone, lost says whether it had records
// of the database above a number.
func (l *Log) endOf(id, database, after uint64) (end int64, there, lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments {
		if s.id == id {
			return s.end, !s.going, s.going && s.of[database] > after
		}
	}
	return 0, false, l.trimmed[database] > after
}
