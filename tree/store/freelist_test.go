package store

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// freed returns the file of a store that was closed and has free pages, and its
// meta page.
func freed(t *testing.T) (file string, meta boltMeta) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "db")
	s := open(t, file)
	if err := load(t, s, tree.Root, LoadOptions{}, &rowsText{n: 2000}); err != nil {
		t.Fatal(err)
	}
	put(t, s, func(tx *Tx) error { _, err := tx.Put(tree.Root, tree.Empty); return err })
	wantClean(t, s)
	if metaOf(t, file).freeList != noFreeList {
		t.Error("every commit writes the list of free pages")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return file, metaOf(t, file)
}

func metaOf(t *testing.T, file string) boltMeta {
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

// TestFreeListIsKept: a file that was closed has the list of its free pages, and
// a store that is opened on it uses them.
func TestFreeListIsKept(t *testing.T) {
	file, meta := freed(t)
	if meta.freeList == noFreeList {
		t.Fatal("Close did not keep the list of free pages")
	}
	s := open(t, file)
	defer s.Close()
	if err := load(t, s, tree.Root, LoadOptions{}, &rowsText{n: 1000}); err != nil {
		t.Fatal(err)
	}
	wantClean(t, s)
	if after := metaOf(t, file); after.pages > meta.pages {
		t.Errorf("the file grew from %d to %d pages though half of them were free", meta.pages, after.pages)
	}
}

// TestDamagedFreeList: a list of free pages that cannot be right is refused, as
// bbolt would write over what is in use.
func TestDamagedFreeList(t *testing.T) {
	file, meta := freed(t)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := int(meta.freeList) * int(meta.pageSize)
	list := at + pageHeader
	for name, damage := range map[string]func(b []byte){
		"a page in use": func(b []byte) { binary.LittleEndian.PutUint64(b[list:], meta.root) },
		"a meta page":   func(b []byte) { binary.LittleEndian.PutUint64(b[list:], 1) },
		"twice":         func(b []byte) { copy(b[list:list+freeElement], b[list+freeElement:]) },
		"behind the end": func(b []byte) {
			binary.LittleEndian.PutUint64(b[list:], meta.pages)
		},
		"too many": func(b []byte) { binary.LittleEndian.PutUint16(b[at+10:], longList-1) },
		"far too many": func(b []byte) {
			binary.LittleEndian.PutUint16(b[at+10:], longList)
			binary.LittleEndian.PutUint64(b[list:], 1<<62)
		},
		"another kind": func(b []byte) { binary.LittleEndian.PutUint16(b[at+8:], flagLeaf) },
	} {
		t.Run(name, func(t *testing.T) {
			bad := append([]byte(nil), good...)
			damage(bad)
			if err := os.WriteFile(file, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(file, Options{})
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("Open = %v, want %v", err, ErrDamaged)
			}
		})
	}
}
