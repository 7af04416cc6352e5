package wal

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"
)

// keptLog returns a log with records of two databases, those of the first one kept.
func keptLog(t *testing.T, d *memDisk) (*Log, []Record) {
	t.Helper()
	l, err := OpenOn(d, Options{SegmentBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	var records []Record
	for i := range 12 {
		r := Record{Database: uint64(1 + i%2), Kind: FirstKind, Change: []byte{byte(i)}, Rows: bytes.Repeat([]byte{byte(i)}, 40*i)}
		if r.Number, err = l.Append(r); err != nil {
			t.Fatal(err)
		}
		if r.Database == 1 {
			records = append(records, r)
		}
	}
	if err := l.Keep(1); err != nil {
		t.Fatal(err)
	}
	return l, records
}

// TestKeep: kept records hold no segments, are found again, and more come behind them.
func TestKeep(t *testing.T) {
	d := newMemDisk(1)
	l, records := keptLog(t, d)
	if all := l.Databases(); all[1] != 0 || all[2] == 0 {
		t.Error("unreleased:", all)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := OpenOn(d.reboot(), Options{SegmentBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the segments may have them still
		if err := l.Keep(1); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Release(2, l.Databases()[2]); err != nil {
		t.Fatal(err)
	}
	more := Record{Database: 1, Kind: FirstKind, Rows: []byte("more")}
	if more.Number, err = l.Append(more); err != nil {
		t.Fatal(err)
	}
	if err := l.Keep(1); err != nil {
		t.Fatal(err)
	}
	k, got, ok, err := l.Kept().Find(l.Owner(), 1)
	if err != nil || !ok || k.Last != more.Number || !slices.EqualFunc(got, append(records, more), equal) {
		t.Errorf("%+v, %d records, %t, %v", k, len(got), ok, err)
	}
	if n := l.Stats().Segments; n != 1 {
		t.Errorf("%d segments stay", n)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func unused(Kept) bool { return false }

// TestKeptLimit: records are given up at their age, and then a note says so.
func TestKeptLimit(t *testing.T) {
	l, records := keptLog(t, newMemDisk(1))
	now := time.Now()
	if given, err := l.Kept().Limit(now, unused); len(given) > 0 || err != nil {
		t.Fatal(given, err)
	}
	used := func(k Kept) bool { return k.Database == 1 }
	if given, err := l.Kept().Limit(now.Add(KeptAge+time.Minute), used); len(given) > 0 || err != nil {
		t.Fatal("in use:", given, err)
	}
	given, err := l.Kept().Limit(now.Add(KeptAge+time.Minute), unused)
	if err != nil || len(given) != 1 || given[0].Database != 1 {
		t.Fatal(given, err)
	}
	k, got, ok, err := l.Kept().Find(l.Owner(), 1)
	if err != nil || !ok || len(got) > 0 || k.State != KeptGivenUp || k.Last != records[len(records)-1].Number {
		t.Errorf("%+v, %d records, %t, %v", k, len(got), ok, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestKeptFlipped: a kept file with a damaged byte is refused.
func TestKeptFlipped(t *testing.T) {
	d := newMemDisk(1)
	l, _ := keptLog(t, d)
	name := Kept{Owner: l.Owner(), Database: 1}.Name()
	data := d.files[name].data
	for at := range data {
		data[at] ^= 1 << (at % 8)
		if _, _, _, err := l.Kept().Find(l.Owner(), 1); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat) {
			t.Fatalf("byte %d: %v", at, err)
		}
		data[at] ^= 1 << (at % 8)
	}
	for n := range data {
		d.files[name].data = data[:n]
		if _, _, _, err := l.Kept().Find(l.Owner(), 1); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	d.files[name].data = data
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
