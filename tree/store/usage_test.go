package store

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

func TestUsage(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "a.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(n tree.Node) {
		t.Helper()
		if err := s.Update(func(tx *Tx) error { _, err := tx.Put(tree.Root, n); return err }); err != nil {
			t.Fatal(err)
		}
	}
	usage := func() Usage {
		t.Helper()
		u, err := s.Usage()
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	put(tree.String(strings.Repeat("x", 1<<20)))
	full := usage()
	if full.Bytes < 1<<20 || full.Reclaim != 0 {
		t.Errorf("with a megabyte in it: %+v", full)
	}
	before := s.WriteTime()
	put(tree.String("small"))
	if s.WriteTime() <= before {
		t.Errorf("a commit took no time to write")
	}
	if u := usage(); u.Reclaim != 1 {
		t.Errorf("after the megabyte was replaced: %+v, want one entry to reclaim", u)
	}
	for more := true; more; {
		if more, err = s.Reclaim(512, nil); err != nil {
			t.Fatal(err)
		}
	}
	if u := usage(); u.Reclaim != 0 || u.FreeBytes < 1<<19 {
		t.Errorf("after it was reclaimed: %+v, want free room", u)
	}
}

func TestUsageInMemory(t *testing.T) {
	s, err := Open("", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if u, err := s.Usage(); err != nil || u != (Usage{}) || s.WriteTime() != 0 {
		t.Errorf("of a store without a file: %+v, %v, %s", u, err, s.WriteTime())
	}
}
