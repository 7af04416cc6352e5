package wal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// An idle log marks its end once, and then writes nothing.
func TestMarkedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newMemDisk(1)
		l, err := OpenOn(d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		for range 3 {
			if _, err := l.Append(Record{Kind: FirstKind, Rows: []byte("row")}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) // the mark, and a file for the next segment
			before := d.stepsSoFar()
			time.Sleep(time.Minute)
			if n := d.stepsSoFar() - before; n != 0 {
				t.Fatalf("changed the disk %d times in an idle minute, want none", n)
			}
		}
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestAppendersShareWrites: what is appended by many at the same time is there afterwards, in
// the order in which each of them appended, and released segments are used again.
func TestAppendersShareWrites(t *testing.T) {
	dir := t.TempDir()
	const appenders, each = 16, 200
	l, err := Open(dir, Options{SegmentBytes: 128 << 10})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for a := range uint64(appenders) {
		wg.Go(func() {
			for i := range each {
				n, err := l.Append(Record{Database: a, Kind: FirstKind, Rows: fmt.Appendf(nil, "%d %0*d", i, 10+i, 0)})
				if err == nil && i < each/2 {
					err = l.Release(a, n)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for a := range uint64(appenders) {
		next := -1
		for r, err := range l.Records(a, 0) {
			if err != nil {
				t.Fatal(err)
			}
			i := 0
			fmt.Sscan(strings.Fields(string(r.Rows))[0], &i)
			if next >= 0 && i != next {
				t.Fatalf("appender %d: record %d came instead of %d", a, i, next)
			}
			next = i + 1
		}
		if next != each {
			t.Errorf("appender %d: the records end at %d", a, next)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*"+poolSuffix)); len(files) > 0 {
		t.Errorf("files that Open should have removed: %v", files)
	}
}

// TestRecycled: the log does not grow while everything is released.
func TestRecycled(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, Options{SegmentBytes: firstSegment})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	made := make(map[string]bool)
	for range 200 {
		n, err := l.Append(Record{Database: 1, Kind: FirstKind, Rows: make([]byte, 10<<10)})
		if err == nil {
			err = l.Release(1, n)
		}
		if err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) > 6 {
			t.Fatal(len(files), err)
		}
		for _, f := range files {
			made[f.Name()] = true
		}
	}
	if len(made) < 30 {
		t.Errorf("%d names of files: segments are not begun", len(made))
	}
}

// TestHolesAreNotUsedAgain: a segment whose empty end was given back to a full disk does not become
// another one, whose records would be written into a hole. Nor does one of an earlier run, which may
// have given it back.
func TestHolesAreNotUsedAgain(t *testing.T) {
	dir := t.TempDir()
	o := Options{SegmentBytes: firstSegment}
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	// usedAgain begins a segment, releases the one before it, and reports whether that waits to be
	// used again.
	usedAgain := func() bool {
		t.Helper()
		begun, old := len(l.segments), l.segments[len(l.segments)-1]
		n := old.last
		for len(l.segments) == begun {
			if n, err = l.Append(Record{Database: 1, Kind: FirstKind, Rows: make([]byte, 10<<10)}); err != nil {
				t.Fatal(err)
			}
		}
		l.pool.wait()
		if err := l.Release(1, n); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(l.pool.files, func(f pooledFile) bool { return f.file == old.file })
	}
	if _, err := l.Append(Record{Database: 1, Kind: FirstKind}); err != nil {
		t.Fatal(err)
	}
	if !usedAgain() {
		t.Error("a segment is not used again")
	}
	if err := l.Shrink(false); err != nil {
		t.Fatal(err)
	}
	l.pool.tight = false // there is room again
	if usedAgain() {
		t.Error("a segment with a hole is used again")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(dir, o); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if usedAgain() {
		t.Error("a segment of an earlier run is used again")
	}
}

// TestOwnerOfDamaged: a control file that cannot be read is damage of the log.
func TestOwnerOfDamaged(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, controlFile), []byte("dogwood log 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Owner(dir); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, appenders := range []int{1, 16} {
		b.Run(fmt.Sprint(appenders), func(b *testing.B) {
			l, err := Open(b.TempDir(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			b.SetParallelism(appenders)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				rows := make([]byte, 300)
				for pb.Next() {
					n, err := l.Append(Record{Database: 1, Kind: FirstKind, Rows: rows})
					if err != nil {
						b.Error(err)
					}
					if n%1000 == 0 {
						_ = l.Release(1, n)
					}
				}
			})
		})
	}
}

// FuzzReadRecord: any bytes are a record that is written as the same bytes, or none.
func FuzzReadRecord(f *testing.F) {
	r := Record{Database: 3, Kind: FirstKind, Change: []byte("change"), Rows: []byte("rows")}
	b := appendRecord(nil, &r)
	seal(b, 1, 2, 1)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok := readRecord(b, 1)
		if !ok {
			return
		}
		again := appendRecord(nil, &r.Record)
		seal(again, 1, r.Number, r.settled)
		if string(again) != string(b[:r.size]) {
			t.Errorf("%x became %x", b[:r.size], again)
		}
	})
}

// FuzzSegment: whatever a segment contains, the log is opened with whole records, or refused.
func FuzzSegment(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Fuzz(func(t *testing.T, junk []byte, at uint16) {
		d := newMemDisk(1)
		l, err := OpenOn(d, Options{SegmentBytes: 8 << 10})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			if _, err := l.Append(Record{Database: 1, Kind: FirstKind, Rows: make([]byte, 100*i)}); err != nil {
				t.Fatal(err)
			}
		}
		l.pool.wait()
		s := l.segments[0]
		b := d.files[s.name()].data
		copy(b[min(int(at), len(b)):], junk)
		if l, err = OpenOn(d, Options{}); err != nil {
			return
		}
		for _, err := range l.Records(1, 0) {
			if err != nil {
				t.Error(err)
			}
		}
	})
}
