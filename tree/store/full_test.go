package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	bolt "go.etcd.io/bbolt"

	"github.com/dogwooddb/dogwood/internal/disktest"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/durable"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// unfinishedLoad leaves a load on record, as a crash would.
func unfinishedLoad(t *testing.T, file string) {
	t.Helper()
	s := open(t, file)
	defer s.Close()
	l, err := s.NewLoad(tree.MustParsePath("loaded"), LoadOptions{SliceBytes: 1000, WholeBytes: 512})
	if err != nil {
		t.Fatal(err)
	}
	src := io.MultiReader(strings.NewReader(readAll(t, &rowsText{n: 200})[:4000]), iotest.ErrReader(io.ErrNoProgress))
	if err := l.Read(context.Background(), src); err == nil {
		t.Fatal("the load is complete")
	}
}

// withoutCounts removes the bucket that older files do not have.
func withoutCounts(t *testing.T, file string) {
	t.Helper()
	db, err := bolt.Open(file, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		return tx.DeleteBucket([]byte{byte(kv.Counts)})
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestFullDiskIsRead opens files on a disk without room, whatever a start would write
// into them. They can be read, and are written to when there is room.
func TestFullDiskIsRead(t *testing.T) {
	tier.Unraced(t)
	for _, c := range []struct {
		name string
		due  func(t *testing.T, file string)
	}{
		{"nothing is due", func(*testing.T, string) {}},
		{"a load was not finished", unfinishedLoad},
		{"there are no checksums", withoutSums},
		{"a bucket is missing", withoutCounts},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := written(t)
			c.due(t, file)
			before := contentOf(t, file)
			empty := disktest.Fill(t)
			for range 2 {
				s := open(t, file)
				wantNode(t, s, "list/k7", strings.Repeat("text ", 500))
				for range 2 {
					if err := s.Update(putNumber("n", 1)); !durable.NoRoom(err) {
						t.Errorf("a write without room: %v", err)
					}
				}
				wantNode(t, s, "list/k7", strings.Repeat("text ", 500))
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(before, contentOf(t, file)) {
				t.Error("the file has changed")
			}
			s := open(t, file)
			empty()
			put(t, s, putNumber("n", 2))
			wantClean(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, file)
			wantNode(t, s, "list/k7", strings.Repeat("text ", 500))
			for more := true; more; {
				var err error
				if more, err = s.Upgrade(1000); err != nil {
					t.Fatal(err)
				}
			}
			for more := true; more; {
				var err error
				if more, err = s.Reclaim(1000, nil); err != nil {
					t.Fatal(err)
				}
			}
			wantClean(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestFullDiskMakesNoFile: what is left of a new file would be taken for a damaged one.
func TestFullDiskMakesNoFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data.db")
	empty := disktest.Fill(t)
	if _, err := Open(file, Options{}); !durable.NoRoom(err) {
		t.Errorf("Open = %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is left: %v", err)
	}
	empty()
	if err := open(t, file).Close(); err != nil {
		t.Error(err)
	}
}

// TestDeclareAgain: declaring what is declared changes nothing.
func TestDeclareAgain(t *testing.T) {
	s := open(t, "")
	indexes := []Index{{"/users", "age"}, {"/users", "name"}}
	if err := s.Declare(indexes); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		indexes []Index
		same    bool
	}{
		{indexes, true},
		{[]Index{indexes[1], indexes[0], indexes[1]}, true},
		{indexes[:1], false},
		{append(indexes[:2:2], Index{"/users", "size"}), false},
		{nil, false},
	} {
		tx, err := s.Begin(true)
		if err != nil {
			t.Fatal(err)
		}
		same, err := tx.Indexes().Declared(c.indexes)
		if err != nil || same != c.same {
			t.Errorf("Declared(%v) = %t, %v; want %t", c.indexes, same, err, c.same)
		}
		if err := tx.Indexes().Declare(c.indexes); err != nil {
			t.Fatal(err)
		}
		if tx.dirty == c.same {
			t.Errorf("Declare(%v) changes the store: %t", c.indexes, tx.dirty)
		}
		tx.Rollback()
	}
}

func contentOf(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func putNumber(path string, n float64) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.Put(tree.MustParsePath(path), tree.Number(n))
		return err
	}
}

func wantNode(t *testing.T, s *Store, path, text string) {
	t.Helper()
	err := s.View(func(tx *Tx) error {
		n, err := tx.Get(tree.MustParsePath(path))
		if n != tree.String(text) {
			t.Errorf("%s = %.100s", path, n.JSON())
		}
		return err
	})
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
}

// TestFileOfAnother: a file that this process may not write to is read.
func TestFileOfAnother(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	file := written(t)
	if err := os.Chmod(file, 0o400); err != nil {
		t.Fatal(err)
	}
	s := open(t, file)
	wantNode(t, s, "list/k7", strings.Repeat("text ", 500))
	if err := s.Update(putNumber("n", 1)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a write: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
