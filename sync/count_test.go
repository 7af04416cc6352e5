package sync

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// TestCountKeepsNumber: in a file of the first versions the first count goes over
// the children, and the next one does not.
func TestCountKeepsNumber(t *testing.T) {
	o := Options{File: filepath.Join(t.TempDir(), "db"), Rules: rules.Open()}
	reopen := func() *Database {
		t.Helper()
		db, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := reopen()
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, `,"k%d":%d`, i, i)
	}
	set(t, db, "/list", "{"+text.String()[1:]+"}")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := bolt.Open(o.File, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Update(func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("c")) }); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}

	db = reopen()
	defer db.Close()
	visited := func() (n int) {
		t.Helper()
		err := db.store.View(func(tx *store.Tx) error {
			_, err := tx.Count(tree.MustParsePath("/list"), tree.Query{})
			n = tx.Stats().Visited
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := visited(); n != 2000 {
		t.Errorf("%d children are visited at first", n)
	}
	for range 2 {
		n, err := db.Count(t.Context(), Read{Path: tree.MustParsePath("/list"), Plain: true})
		if n != 2000 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if n := visited(); n != 0 {
			t.Errorf("%d children are visited then", n)
		}
	}
	if findings, err := db.Check(); len(findings) > 0 || err != nil {
		t.Error(findings, err)
	}
}
