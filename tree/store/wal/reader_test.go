package wal

import (
	"errors"
	"testing"
	"time"
)

// TestRetention: released segments stay for as long as they are few and young, or held; a
// reader that comes too late is told so.
func TestRetention(t *testing.T) {
	now := time.UnixMilli(1e12)
	l, err := Open(t.TempDir(), Options{SegmentBytes: firstSegment, KeepBytes: 4 * firstSegment, KeepAge: time.Hour,
		HoldBytes: 8 * firstSegment, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	add := func(segments int) (last uint64) {
		t.Helper()
		for range 3 * segments { // three fill one
			if last, err = l.Append(Record{Database: 1, Kind: FirstKind, Rows: make([]byte, 20<<10)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Release(1, last); err != nil {
			t.Fatal(err)
		}
		return last
	}
	wants := func(when string, segments int) {
		t.Helper()
		if got := len(l.segments); got != segments {
			t.Errorf("%s: %d segments, want %d", when, got, segments)
		}
	}
	add(3)
	wants("few", 3)
	late := l.Cursor(1, 0)
	if _, ok, err := late.Next(); !ok || err != nil {
		t.Fatal("a reader of records that are there:", err)
	}
	last := add(7)
	wants("many", 4)
	if _, _, err := late.Next(); !errors.Is(err, ErrTrimmed) {
		t.Error("a reader of records that are gone:", err)
	}
	now = now.Add(2 * time.Hour)
	add(1)
	wants("the others are old", 2)
	h := l.Hold(last)
	add(5)
	wants("held", 6) // the first has nothing behind last
	h.Move(last + 9)
	add(0)
	wants("partly held", 4)
	h.Move(last)
	h.End()
	add(0)
	wants("few and young again", 4)
	l.Hold(last + 9)
	add(12)
	wants("held for too long", 8)
}
