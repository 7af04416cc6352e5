package wal

import (
	"errors"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// TestStates: the log says of each database with a file that needs it how far it has the
// database, also when all its records are gone, and after a restart.
func TestStates(t *testing.T) {
	d := newMemDisk(1)
	l, err := OpenOn(d, Options{SegmentBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	add := func(db uint64) uint64 {
		t.Helper()
		n, err := l.Append(Record{Database: db, Kind: FirstKind, Rows: make([]byte, 300)})
		must(err)
		must(l.Release(db, n))
		return n
	}
	must(l.Need(State{1, 11, 0}))
	must(l.Need(State{2, 22, 0}))
	last := add(1)
	l.Done(2)
	add(2)
	for range 10 {
		add(3)
	}
	for range 2 {
		if n := len(l.segments); n > 1 {
			t.Errorf("%d segments stay", n)
		}
		if s, ok := l.State(1); !ok || s != (State{1, 11, last}) {
			t.Error(s, ok)
		}
		if s, ok := l.State(2); ok {
			t.Error(s)
		}
		if list := l.having(1, 0); len(list) > 0 {
			t.Error("the records are there")
		}
		must(l.Close())
		l, err = OpenOn(d.reboot(), Options{SegmentBytes: 1 << 10})
		must(err)
	}
	must(l.Keep(1))
	if k, _, ok, err := l.Kept().Find(l.Owner(), 1); !ok || err != nil || k.Line != 11 || k.Last != last {
		t.Error(k, ok, err)
	}
	if s, ok := l.State(1); ok {
		t.Error("still needed:", s)
	}
	must(l.Close())
}

// TestFullDisk: a log on a full disk takes no more than it needs: what is released is given
// back, though no segment can be begun.
func TestFullDisk(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	d := newMemDisk(1)
	l, err := OpenOn(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var last uint64
	for d.limit = 6 << 20; err == nil; {
		var n uint64
		if n, err = l.Append(Record{Database: 1, Kind: FirstKind, Rows: make([]byte, 30_000)}); err == nil {
			last = n
		}
	}
	if !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	if err := l.Release(1, last); err != nil {
		t.Fatal(err)
	}
	if n := len(l.segments); n > 1 {
		t.Errorf("%d segments stay", n)
	}
	d.limit = d.size() // others take it
	if n, size := len(l.segments), d.size(); size > int(l.segments[n-1].bytes)+reserved+1000 {
		t.Errorf("the log takes %d bytes, and its newest segment %d", size, l.segments[n-1].bytes)
	}
	d.limit = 0
	for range 500 {
		if last, err = l.Append(Record{Database: 1, Kind: FirstKind, Rows: make([]byte, 30_000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	l, err = OpenOn(d.reboot(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Databases()[1]; got != last {
		t.Errorf("the last record is %d, want %d", got, last)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
