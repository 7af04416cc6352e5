package logged

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/internal/disk"
	"github.com/dogwooddb/dogwood/tree/store/kv"
	"github.com/dogwooddb/dogwood/tree/store/wal"
)

var errDisk = errors.New("the disk failed")

// A faultyDisk has synced writes of segments fail that took place, and files stay.
type faultyDisk struct {
	disk.Disk
	fault func() error
	stay  func() error
}

func (d faultyDisk) Remove(name string) error {
	if err := d.stay(); err != nil {
		return err
	}
	return d.Disk.Remove(name)
}

func (d faultyDisk) Create(name string, size int64) (disk.File, error) {
	f, err := d.Disk.Create(name, size)
	return &faultyFile{f, d.fault}, err
}

type faultyFile struct {
	disk.File
	fault func() error
}

func (f *faultyFile) WriteSync(b []byte, at int64) error {
	err := f.File.WriteSync(b, at)
	if err == nil && at > 0 { // or it is the head
		err = f.fault()
	}
	return err
}

// faulty are two stores with one log, whose syncs fail while failing is set.
type faulty struct {
	*testing.T
	dir     string
	failing bool
	staying bool // files of the log cannot be removed
	frozen  bool // the file of the first store can only be read
	log     *Log
	stores  []*Store
}

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	f := &faulty{T: t, dir: t.TempDir()}
	f.open(f.dir)
	return f
}

var faultyFiles = []string{"a.db", "b.db"}

func (f *faulty) open(dir string) {
	f.Helper()
	var err error
	failing := func(on *bool) func() error {
		return func() error {
			if *on {
				return errDisk
			}
			return nil
		}
	}
	d := faultyDisk{disk.Directory(filepath.Join(dir, "log")), failing(&f.failing), failing(&f.staying)}
	f.log, err = OpenLogOn(d, LogOptions{SegmentBytes: 64 << 10})
	if err != nil {
		f.Fatal(err)
	}
	f.stores = nil
	for i, name := range faultyFiles {
		frozen := f.frozen && i == 0
		file, err := kv.OpenFile(filepath.Join(dir, name), kv.FileOptions{NoSync: true, ReadOnly: frozen})
		if err == nil && !frozen {
			err = file.Start()
		}
		if err != nil {
			f.Fatal(err)
		}
		s, err := Open(file, f.log, Options{})
		if err != nil {
			f.Fatal(err)
		}
		f.stores = append(f.stores, s)
	}
}

func (f *faulty) close() {
	f.Helper()
	for _, s := range f.stores {
		if err := s.Close(); err != nil {
			f.Error(err)
		}
	}
	if err := f.log.Close(); err != nil {
		f.Error(err)
	}
}

func (f *faulty) put(store int, key string) error {
	f.Helper()
	tx, err := f.stores[store].Begin(true)
	if err != nil {
		f.Fatal(err)
	}
	defer tx.Rollback()
	if err := tx.Put(kv.Rows, []byte(key), []byte("1")); err != nil {
		f.Fatal(err)
	}
	return tx.Commit()
}

func (f *faulty) must(store int, key string) {
	f.Helper()
	if err := f.put(store, key); err != nil {
		f.Fatal(key, err)
	}
}

func (f *faulty) has(store int, key string) bool {
	f.Helper()
	tx, err := f.stores[store].Begin(false)
	if err != nil {
		f.Fatal(err)
	}
	defer tx.Rollback()
	v, err := tx.Get(kv.Rows, []byte(key))
	if err != nil {
		f.Fatal(err)
	}
	return v != nil
}

// killed goes on with what the files are now.
func (f *faulty) killed() {
	f.Helper()
	dir := f.TempDir()
	if err := os.CopyFS(dir, os.DirFS(f.dir)); err != nil {
		f.Fatal(err)
	}
	f.close()
	f.dir = dir
	f.open(dir)
}

// TestFailedSync: a commit whose sync fails did not take place, also after a crash, though
// its record is on the disk. Everything acknowledged before is in the files of all databases by
// then.
func TestFailedSync(t *testing.T) {
	f := newFaulty(t)
	f.must(0, "k1")
	f.must(1, "k1")
	f.failing = true
	if err := f.put(0, "lost"); !errors.Is(err, errDisk) || errors.Is(err, kv.ErrUnknown) {
		t.Fatal("a commit whose sync fails:", err)
	}
	for i, s := range f.stores {
		if s.unapplied() > 0 {
			t.Errorf("store %d has commits that are in the failed segment alone", i)
		}
	}
	if f.has(0, "lost") {
		t.Error("the refused commit shows")
	}
	f.failing = false
	f.must(0, "k2")
	f.must(1, "k2")
	f.killed()
	for store := range f.stores {
		if !f.has(store, "k1") || !f.has(store, "k2") || f.has(store, "lost") {
			t.Errorf("after a crash, store %d: k1 %t, k2 %t, lost %t", store, f.has(store, "k1"), f.has(store, "k2"), f.has(store, "lost"))
		}
	}
	f.close()
}

// TestFailedDisk: while the files cannot be written either, the outcome is unknown and nothing
// is acknowledged. When they can, the commit did not take place.
func TestFailedDisk(t *testing.T) {
	f := newFaulty(t)
	f.must(0, "k1")
	f.must(1, "k1")
	f.failing = true
	file := f.stores[1].File().Inject()
	file.Commit = func() error { return errDisk }
	if err := f.put(0, "lost"); !errors.Is(err, kv.ErrUnknown) {
		t.Fatal("a commit that cannot be taken back:", err)
	}
	f.failing = false
	for store := range f.stores {
		if err := f.put(store, "refused"); err == nil || errors.Is(err, kv.ErrUnknown) {
			t.Errorf("store %d took a commit while the log was broken: %v", store, err)
		}
	}
	file.Commit = nil
	_ = f.put(0, "refused") // it has the log begin a segment
	f.must(0, "k2")
	f.must(1, "k2")
	f.killed()
	for store := range f.stores {
		if !f.has(store, "k1") || !f.has(store, "k2") || f.has(store, "lost") || f.has(store, "refused") {
			t.Errorf("after a crash, store %d: k1 %t, k2 %t, lost %t, refused %t", store,
				f.has(store, "k1"), f.has(store, "k2"), f.has(store, "lost"), f.has(store, "refused"))
		}
	}
	f.close()
}

// TestDirectAfterFailure: a commit that does not go through the log comes behind the records
// before it, also those whose outcome is unknown.
func TestDirectAfterFailure(t *testing.T) {
	f := newFaulty(t)
	f.must(0, "k1")
	f.must(1, "k1")
	f.failing = true
	file := f.stores[1].File().Inject()
	file.Commit = func() error { return errDisk }
	if err := f.put(0, "unknown"); !errors.Is(err, kv.ErrUnknown) {
		t.Fatal("a commit that cannot be taken back:", err)
	}
	f.failing = false
	drop := func() error {
		tx, err := f.stores[0].Begin(true)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		tx.Dense()
		return errors.Join(tx.Delete(kv.Rows, []byte("unknown")), tx.Commit())
	}
	if err := drop(); err == nil {
		t.Error("a commit went to the file while a record before it was not settled")
	}
	file.Commit = nil
	if err := drop(); err != nil {
		t.Error(err)
	}
	f.killed()
	if f.has(0, "unknown") {
		t.Error("a commit that was acknowledged was overwritten by an earlier one that was not")
	}
	f.close()
}

// TestRoomAfterFailure: a commit that the file takes at the second try counts, though the log
// could not give back its room in between. The same goes for what is applied, and what goes
// next to the log.
func TestRoomAfterFailure(t *testing.T) {
	f := newFaulty(t)
	f.must(0, "k1")
	s, tries := f.stores[0], 0
	s.File().Inject().Commit = func() error {
		if tries++; tries == 1 {
			return syscall.ENOSPC
		}
		return nil
	}
	for _, try := range []struct {
		name string
		put  func() error
	}{
		{"applied", s.Apply},
		{"direct", func() error {
			tx, err := s.Begin(true)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			tx.Dense()
			return errors.Join(tx.Put(kv.Rows, []byte("direct"), []byte("1")), tx.Commit())
		}},
		{"beside", func() error {
			return Aside(s, 1<<10, func(tx kv.Tx) error { return tx.Put(kv.Rows, []byte("beside"), []byte("1")) })
		}},
	} {
		tries = 1
		if err := s.Apply(); err != nil {
			t.Fatal(err)
		}
		if try.name == "applied" {
			f.must(0, try.name)
		}
		f.staying, tries = true, 0
		if err := try.put(); err != nil || tries != 2 || !f.has(0, try.name) {
			t.Errorf("%s: tried %d times, shows: %t: %v", try.name, tries, f.has(0, try.name), err)
		}
		f.staying = false
	}
	s.File().Inject().Commit = nil
	f.close()
}

// TestUnwritable: a file that can only be read, and needs the log, stops neither the log nor
// other databases, and gets its commits when it can be written to.
func TestUnwritable(t *testing.T) {
	f := newFaulty(t)
	f.must(0, "k1")
	f.must(1, "k1")
	f.frozen = true
	f.killed()
	if n, most := f.log.Stats().Unapplied, f.stores[0].unapplied(); n > most || most == 0 {
		t.Errorf("%d bytes of commits wait to be applied, which %d bytes cannot be", n, most)
	}
	for range 2 { // after the second start, the commits are kept
		if err := f.log.Keep(); err != nil {
			t.Fatal(err)
		}
		kept, givenUp, err := f.log.LimitKept(time.Now().Add(2 * wal.KeptAge))
		if len(kept) != 1 || len(givenUp) > 0 || err != nil {
			t.Errorf("kept %v, given up %v: %v", kept, givenUp, err)
		}
		f.failing = true
		if err := f.put(1, "lost"); !errors.Is(err, errDisk) || errors.Is(err, kv.ErrUnknown) {
			t.Error("a commit whose sync fails:", err)
		}
		f.failing = false
		f.must(1, "k2")
		if err := f.stores[1].Apply(); err != nil {
			t.Fatal(err)
		}
		for database := range f.log.wal.Databases() {
			if database == f.stores[0].Database() {
				t.Error("the log holds the commits of the file that can only be read")
			}
		}
		if !f.has(0, "k1") {
			t.Error("the commits of the file that can only be read do not show")
		}
		f.killed()
	}
	f.frozen = false
	f.killed()
	if !f.has(0, "k1") || f.stores[0].unapplied() > 0 {
		t.Error("the file did not get its commits")
	}
	f.close()
}

// TestBrokenLargest: a database that has the most in memory, and whose file cannot be written to,
// stops the commits of others only if nothing else can make room.
func TestBrokenLargest(t *testing.T) {
	f := newFaulty(t)
	for i := range 20 {
		f.must(0, fmt.Sprint("k", i))
	}
	f.must(1, "k")
	broken := f.stores[0].File().Inject()
	broken.Commit = func() error { return errDisk }
	f.log.memory = f.stores[0].unapplied()/2 + 1
	if !f.log.full(2) {
		t.Fatal("there is room")
	}
	if err := f.put(1, "other"); err != nil {
		t.Errorf("a commit of another database: %v", err)
	}
	rest := func() {
		for _, s := range f.stores {
			s.started.Wait()
		}
	}
	rest()
	f.log.memory = 1
	if err := f.put(1, "refused"); !errors.Is(err, errDisk) {
		t.Errorf("a commit without room in memory: %v, want %v", err, errDisk)
	}
	rest()
	broken.Commit = nil
	f.close()
}
