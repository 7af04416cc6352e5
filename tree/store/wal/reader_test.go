package wal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestTail: a reader that follows a database sees each of its records once, in order, while
// they are appended by several goroutines and long after they were released.
func TestTail(t *testing.T) {
	l, err := Open(t.TempDir(), Options{SegmentBytes: firstSegment, KeepBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const each = 300
	var wg sync.WaitGroup
	for db := range uint64(3) {
		wg.Go(func() {
			for i := range each {
				n, err := l.Append(Record{Database: db, Kind: FirstKind, Change: fmt.Append(nil, i), Rows: make([]byte, 500*int(db))})
				if err == nil {
					err = l.Release(db, n)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			next := 0
			for r, err := range l.Tail(t.Context(), db, 0) {
				if err != nil || string(r.Change) != fmt.Sprint(next) {
					t.Errorf("record %s of database %d came for %d: %v", r.Change, db, next, err)
				}
				if next++; next == each || err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestTailEnds: a reader that waits ends with its context and with the log.
func TestTailEnds(t *testing.T) {
	l, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	follow := func(ctx context.Context) {
		for _, err := range l.Tail(ctx, 1, 0) {
			ended <- err
		}
	}
	go follow(ctx)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	go follow(t.Context())
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

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
	last := add(7)
	wants("many", 4)
	for _, err := range l.Tail(t.Context(), 1, 0) {
		if !errors.Is(err, ErrTrimmed) {
			t.Error("a reader of records that are gone:", err)
		}
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
