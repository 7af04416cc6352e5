package logged

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree/store/internal/disk"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A countedDisk counts the changes of a disk, and has some fail.
type countedDisk struct {
	disk.Disk
	changes atomic.Int64 // spare files are made in the background
	fails   func(change int) bool
	how     faultKind
}

// A faultKind is how a change fails.
type faultKind struct {
	name  string
	err   error
	parts int // of two, that take effect
}

var faultKinds = []faultKind{
	{"an error in front of it", syscall.EIO, 0},
	{"an error behind it", syscall.EIO, 2},
	{"a short write for want of room", syscall.ENOSPC, 1},
	{"no room", syscall.ENOSPC, 0},
}

// fault counts a change. do makes a part of it that is there though it fails.
func (d *countedDisk) fault(do func(parts int) error) error {
	if !d.fails(int(d.changes.Add(1))) {
		return do(2)
	}
	if d.how.parts > 0 {
		_ = do(d.how.parts)
	}
	return d.how.err
}

// whole is for changes that have no parts.
func whole(do func() error) func(parts int) error { return func(int) error { return do() } }

func (d *countedDisk) Replace(name string, content []byte) error {
	return d.fault(whole(func() error { return d.Disk.Replace(name, content) }))
}

func (d *countedDisk) Rename(from, to string) error {
	return d.fault(whole(func() error { return d.Disk.Rename(from, to) }))
}

func (d *countedDisk) Remove(name string) error {
	return d.fault(whole(func() error { return d.Disk.Remove(name) }))
}

func (d *countedDisk) Create(name string, size int64) (f disk.File, err error) {
	err = d.fault(func(parts int) (err error) {
		f, err = d.Disk.Create(name, size*int64(parts)/2)
		return err
	})
	if err != nil && f != nil {
		err = errors.Join(err, f.Close())
	}
	return countedFile{f, d}, err
}

type countedFile struct {
	disk.File
	disk *countedDisk
}

func (f countedFile) WriteSync(b []byte, at int64) error {
	return f.disk.fault(func(parts int) error { return f.File.WriteSync(b[:len(b)*parts/2], at) })
}

func (f countedFile) Sync() error { return f.disk.fault(whole(f.File.Sync)) }

// TestEveryFault has each change of a log's disk fail (in the long tier; some, in the others),
// in each way, once, twice in a row, and from then on. After a kill, every commit that was acknowledged is there, and none that was
// refused.
func TestEveryFault(t *testing.T) {
	tier.Unraced(t)
	for _, how := range faultKinds {
		for _, times := range []int{1, 2, 1 << 20} {
			for n := 1; ; n += tier.Pick(41, 21, 1) {
				if !faultRun(t, how, n, times) {
					if n < 20 {
						t.Errorf("only %d changes", n)
					}
					break
				}
				if t.Failed() {
					t.Fatalf("%s, of change %d, %d times", how.name, n, times)
				}
			}
		}
	}
}

// faultRun makes commits with some faults. It reports whether there was one.
func faultRun(t *testing.T, how faultKind, from, times int) bool {
	t.Helper()
	dir := t.TempDir()
	killed := filepath.Join(dir, "killed")
	defer os.RemoveAll(dir) // there are many
	d := &countedDisk{Disk: disk.Directory(filepath.Join(dir, "log")), how: how}
	d.fails = func(change int) bool { return change >= from && change-from < times }
	log, err := OpenLogOn(d, LogOptions{SegmentBytes: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	file, err := kv.OpenFile(filepath.Join(dir, "a.db"), kv.FileOptions{NoSync: true})
	if err == nil {
		err = file.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	format, err := file.Begin(true)
	if err == nil {
		err = errors.Join(kv.WriteFormat(format), format.Commit())
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(file, log, Options{FreezeBytes: 2 << 10})
	if err != nil {
		t.Fatal(err)
	}
	outcome := make(map[string]error)
	for i := range 24 {
		key := fmt.Sprintf("k%02d", i)
		outcome[key] = putTo(t, s, key, strings.Repeat(key, 100))
		if i%8 == 7 {
			_ = s.Apply() // it may fail
		}
	}
	failed := int(d.changes.Load()) >= from
	if err := s.Paused(func() error { return copyTo(killed, dir) }); err != nil {
		t.Fatal(err)
	}
	d.fails = func(int) bool { return false }
	_ = errors.Join(s.Close(), log.Close()) // they may have failed
	f := &faulty{T: t, dir: killed}
	f.open(killed)
	for key, err := range outcome {
		switch there := f.has(0, key); {
		case err == nil && !there:
			t.Errorf("%s was acknowledged and is lost", key)
		case err != nil && !errors.Is(err, kv.ErrUnknown) && there:
			t.Errorf("%s was refused and is there: %v", key, err)
		}
	}
	f.close()
	return failed
}

// copyTo copies a log and its file into a directory in theirs.
func copyTo(killed, dir string) error {
	file, err := os.ReadFile(filepath.Join(dir, "a.db"))
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "log"), 0o700)
	}
	if err == nil {
		err = os.CopyFS(filepath.Join(killed, "log"), os.DirFS(filepath.Join(dir, "log")))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(killed, "a.db"), file, 0o600)
	}
	return err
}

func putTo(t *testing.T, s *Store, key, value string) error {
	t.Helper()
	tx, err := s.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := tx.Put(kv.Rows, []byte(key), []byte(value)); err != nil {
		t.Fatal(err)
	}
	return tx.Commit()
}
