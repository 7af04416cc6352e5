package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree/store/internal/disk"
)

// TestCursor: cursors that begin anywhere return every record of their database once and in
// order, over segments and openings of the log, until some are gone.
func TestCursor(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	for seed := range tier.Pick[uint64](5, 10, 500) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		dir := t.TempDir()
		open := func() *Log {
			l, err := Open(dir, Options{SegmentBytes: firstSegment, KeepBytes: 1 << 40})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		l := open()
		written := make(map[uint64]uint64) // by database, how many records
		last := make(map[uint64]uint64)
		number := func(r Record) uint64 { return binary.BigEndian.Uint64(r.Change) }
		type follower struct {
			*Cursor
			next uint64
		}
		var followers []follower
		follow := func(f *follower) {
			t.Helper()
			for {
				r, ok, err := f.Next()
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				if n := number(r); n == f.next {
					f.next++
				} else if n > f.next {
					t.Fatalf("record %d came, want %d", n, f.next)
				}
			}
			if f.next != written[f.database] {
				t.Fatalf("the cursor of %d ends at %d of %d records", f.database, f.next, written[f.database])
			}
		}
		for range 60 {
			switch rnd.IntN(4) {
			case 0:
				db := 1 + rnd.Uint64N(3)
				if written[db] == 0 {
					break
				}
				f := follower{l.Cursor(db, 0), rnd.Uint64N(written[db])}
				if err := f.Find(func(r Record) bool { return number(r) <= f.next }); err != nil {
					t.Fatal(err)
				}
				followers = append(followers, f)
			case 1:
				for i := range followers {
					follow(&followers[i])
				}
			case 2:
				if rnd.IntN(4) > 0 {
					break
				}
				followers = nil
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				l = open()
			default:
				for range rnd.IntN(20) {
					db := 1 + rnd.Uint64N(3)
					n, err := l.Append(Record{Database: db, Kind: FirstKind, Change: binary.BigEndian.AppendUint64(nil, written[db]), Rows: make([]byte, rnd.IntN(8<<10))})
					if err != nil {
						t.Fatal(err)
					}
					written[db]++
					last[db] = n
				}
			}
		}
		for i := range followers {
			follow(&followers[i])
		}
		late := l.Cursor(1, 0)
		if _, ok, err := late.Next(); !ok || err != nil {
			t.Fatal(ok, err)
		}
		l.o.KeepBytes = 0
		for db, n := range last {
			if err := l.Release(db, n); err != nil {
				t.Fatal(err)
			}
		}
		for i := range followers { // nothing that they lack is gone
			follow(&followers[i])
		}
		if len(l.segments) == 1 && l.trimmed[1] > 0 {
			if _, _, err := late.Next(); !errors.Is(err, ErrTrimmed) {
				t.Errorf("a cursor of records that are gone: %v", err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCursorsFollow: cursors that follow their databases see each record once, in order, while
// several goroutines append and release them.
func TestCursorsFollow(t *testing.T) {
	l, err := Open(t.TempDir(), Options{SegmentBytes: firstSegment, KeepBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const each = 300
	var wg sync.WaitGroup
	for db := range uint64(3) {
		appended := make(chan struct{}, each)
		wg.Go(func() {
			defer close(appended)
			for i := range each {
				n, err := l.Append(Record{Database: db, Kind: FirstKind, Change: fmt.Append(nil, i), Rows: make([]byte, 500*int(db))})
				if err == nil {
					err = l.Release(db, n)
				}
				if err != nil {
					t.Error(err)
					return
				}
				appended <- struct{}{}
			}
		})
		wg.Go(func() {
			c, next := l.Cursor(db, 0), 0
			for range appended { // the cursor may be ahead of it, and is never behind
				for r, ok, err := c.Next(); ok || err != nil; r, ok, err = c.Next() {
					if err != nil || string(r.Change) != fmt.Sprint(next) {
						t.Errorf("record %s of database %d came for %d: %v", r.Change, db, next, err)
						return
					}
					next++
				}
			}
			if next != each {
				t.Errorf("the cursor of %d ends at %d", db, next)
			}
		})
	}
	wg.Wait()
}

// A hookedDisk calls a function when the file of a segment has left its name.
type hookedDisk struct {
	disk.Disk
	left func()
}

func (d hookedDisk) Rename(from, to string) error {
	err := d.Disk.Rename(from, to)
	if strings.HasSuffix(from, segmentSuffix) {
		d.left()
	}
	return err
}

func (d hookedDisk) Remove(name string) error {
	err := d.Disk.Remove(name)
	if strings.HasSuffix(name, segmentSuffix) {
		d.left()
	}
	return err
}

// TestCursorInGoingSegment: from when on the file of a segment may be closed or filled again,
// readers have it no more. They could read a closed file, or records of another place.
func TestCursorInGoingSegment(t *testing.T) {
	left := 0
	var at *Cursor
	l, err := OpenOn(hookedDisk{newMemDisk(1), func() {
		left++
		if _, ok, err := at.Next(); !errors.Is(err, ErrTrimmed) {
			t.Error("a cursor in the segment got", ok, err)
		}
		if err := at.log.Cursor(1, 0).Find(func(Record) bool { return true }); err != nil {
			t.Error("a new cursor got", err)
		}
	}}, Options{SegmentBytes: firstSegment})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var last uint64
	for len(l.segments) < 3 {
		if last, err = l.Append(Record{Database: 1, Kind: FirstKind, Rows: make([]byte, firstSegment/4)}); err != nil {
			t.Fatal(err)
		}
	}
	at = l.Cursor(1, 0)
	if _, ok, err := at.Next(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := l.Release(1, last-1); err != nil {
		t.Fatal(err)
	}
	if left == 0 {
		t.Error("no segment went")
	}
}

// TestCursorBehindGoingSegment: a cursor that has read a segment which is gone does not pass over the
// next one, which goes just then.
func TestCursorBehindGoingSegment(t *testing.T) {
	left := 0
	var behind *Cursor
	l, err := OpenOn(hookedDisk{newMemDisk(1), func() {
		if left++; left == 2 {
			if r, ok, err := behind.Next(); !errors.Is(err, ErrTrimmed) {
				t.Error("a cursor in front of the segment got", r.Number, ok, err)
			}
		}
	}}, Options{SegmentBytes: firstSegment})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var last uint64
	for len(l.segments) < 4 {
		if last, err = l.Append(Record{Database: 1, Kind: FirstKind, Rows: make([]byte, firstSegment/4)}); err != nil {
			t.Fatal(err)
		}
	}
	behind = l.Cursor(1, 0)
	for behind.After() < l.segments[0].last {
		if _, ok, err := behind.Next(); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if err := l.Release(1, last-1); err != nil {
		t.Fatal(err)
	}
	if left < 2 {
		t.Errorf("%d segments went", left)
	}
}
