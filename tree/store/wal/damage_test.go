package wal

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// filled returns the files of a log with some records in several segments, and what they are.
func filled(t *testing.T) (*memDisk, []Record) {
	t.Helper()
	d := newMemDisk(1)
	l, err := OpenOn(d, Options{SegmentBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	var records []Record
	if err := l.begin(2<<10, 0); err != nil {
		t.Fatal(err)
	}
	for i := range 14 {
		r := Record{Database: uint64(1 + i%2), Kind: FirstKind, Change: fmt.Appendf(nil, "change %d", i), Rows: bytes.Repeat([]byte{byte(i)}, 10*i)}
		if r.Number, err = l.Append(r); err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return d.reboot(), records
}

// same returns a disk with the same files, to be read only.
func (d *memDisk) same() *memDisk {
	same := newMemDisk(1)
	for name, f := range d.files {
		same.files[name] = &memFile{disk: same, data: f.data}
	}
	return same
}

// all returns the records of two databases, in the order of their numbers.
func all(t *testing.T, l *Log) (records []Record) {
	t.Helper()
	for db := uint64(1); db <= 2; db++ {
		for r, err := range l.Records(db, 0) {
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
	}
	slices.SortFunc(records, func(a, b Record) int { return int(a.Number) - int(b.Number) })
	return records
}

func equal(a, b Record) bool {
	return a.Number == b.Number && a.Database == b.Database && a.Kind == b.Kind &&
		bytes.Equal(a.Change, b.Change) && bytes.Equal(a.Rows, b.Rows)
}

// TestEveryByteFlipped: a log with one damaged byte has all records, or is refused. All of
// them were acknowledged.
func TestEveryByteFlipped(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	d, records := filled(t)
	refused := 0
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		for at := range d.files[name].data {
			data := d.files[name].data
			data[at] ^= 1 << (at % 8)
			l, err := OpenOn(d.same(), Options{})
			if err != nil {
				if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat) {
					t.Fatalf("%s, byte %d: %v", name, at, err)
				}
				refused++
				data[at] ^= 1 << (at % 8)
				continue
			}
			if got := all(t, l); !slices.EqualFunc(got, records, equal) {
				t.Fatalf("%s, byte %d: %d records of %d", name, at, len(got), len(records))
			}
			data[at] ^= 1 << (at % 8)
		}
	}
	if refused < 1000 {
		t.Errorf("only %d damages were found", refused)
	}
}

// TestMissingFiles: a log that lacks a file, or has a short one, is refused.
func TestMissingFiles(t *testing.T) {
	d, _ := filled(t)
	names := slices.Sorted(maps.Keys(d.files))
	for i, name := range names {
		if strings.HasSuffix(name, poolSuffix) || i == 0 { // the oldest may have been released
			continue
		}
		for _, left := range []int{-1, 0, 100, 600} {
			damaged := d.reboot()
			if left < 0 {
				delete(damaged.files, name)
			} else {
				f := damaged.files[name]
				f.data = f.data[:min(left, len(f.data)-1)]
			}
			if _, err := OpenOn(damaged, Options{}); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s with %d bytes: %v", name, left, err)
			}
		}
	}
}

// TestForeign: segments of another log, and those of a later version, are refused.
func TestForeign(t *testing.T) {
	own, _ := filled(t)
	other, _ := filled(t)
	for name, f := range other.files {
		if name == controlFile {
			own.files[name] = &memFile{disk: own, data: f.data}
		}
	}
	if _, err := OpenOn(own, Options{}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "another log") {
		t.Error(err)
	}
	later := newMemDisk(1)
	later.files[controlFile] = &memFile{disk: later, data: []byte("dogwood log 2\nsomething new\n")}
	if _, err := OpenOn(later, Options{}); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

// TestNewLog: a log has no files before its first record, and finds it in a new process.
func TestNewLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a log without records has made files")
	}
	n, err := l.Append(Record{Database: 7, Kind: FirstKind, Change: []byte("a")})
	if err != nil || n != 1 {
		t.Fatal(n, err)
	}
	owner := l.Owner()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(Record{}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if l, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for r, err := range l.Records(7, 0) {
		if err != nil || string(r.Change) != "a" || r.Number != 1 {
			t.Error(r, err)
		}
	}
	if all := l.Databases(); l.Owner() != owner || len(all) != 1 || all[7] != 1 {
		t.Error(l.Owner(), all)
	}
}
