package kv

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// openTest opens or creates a file.
func openTest(t testing.TB, file string) *File {
	t.Helper()
	f, err := OpenFile(file, FileOptions{NoSync: true})
	if err == nil {
		err = f.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// update carries out a write transaction.
func update(t testing.TB, s Store, f func(tx Tx) error) {
	t.Helper()
	tx, err := s.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	err = f(tx)
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		tx.Rollback()
		t.Fatal(err)
	}
}

// fill puts entries, one in a hundred of which does not fit into a page.
func fill(t testing.TB, s Store, from, entries int) {
	t.Helper()
	update(t, s, func(tx Tx) error {
		for i := from; i < from+entries; i++ {
			value := make([]byte, 100)
			if i%100 == 7 {
				value = make([]byte, 3*os.Getpagesize())
			}
			if err := tx.Put(Rows, binary.BigEndian.AppendUint64(nil, uint64(i)), value); err != nil {
				return err
			}
		}
		return nil
	})
}

// empty deletes the entries of fill.
func empty(t testing.TB, s Store, entries int) {
	t.Helper()
	update(t, s, func(tx Tx) error {
		for i := range entries {
			if err := tx.Delete(Rows, binary.BigEndian.AppendUint64(nil, uint64(i))); err != nil {
				return err
			}
		}
		return nil
	})
}

// soundPages fails the test if bbolt finds that the pages of an open file are wrong.
func soundPages(t testing.TB, f *File) {
	t.Helper()
	tx, err := f.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	file, ok := FileOf(tx)
	if !ok {
		t.Fatal("not a transaction of a file")
	}
	for err := range file.CheckPages() {
		t.Error(err)
	}
}

func metaOf(t testing.TB, file string) boltMeta {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	meta, err := newestMeta(f)
	if err != nil {
		t.Fatal(err)
	}
	return meta
}

// TestUncommittedStateIsNotRead: bbolt shows a state before it is on the disk, and a
// reader that begins then sees the one before.
func TestUncommittedStateIsNotRead(t *testing.T) {
	f := openTest(t, filepath.Join(t.TempDir(), "db"))
	defer f.Close()
	fill(t, f, 0, 1)
	f.Inject().Commit = func() error {
		shown, err := f.db.Begin(false)
		if err != nil {
			return err
		}
		defer shown.Rollback()
		if uint64(shown.ID()) <= f.durable.Load() {
			t.Error("bbolt does not show the state yet: this tests nothing")
		}
		return nil
	}
	fill(t, f, 1, 1)
	tx, err := f.beginRead()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if uint64(tx.ID()) != f.durable.Load() {
		t.Errorf("a reader sees the state %d, on the disk is %d", tx.ID(), f.durable.Load())
	}
}
