package kv

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// freed returns a file that was closed and has free pages, and its meta page.
func freed(t *testing.T) (file string, meta boltMeta) {
	t.Helper()
	const entries = 2000
	file = filepath.Join(t.TempDir(), "db")
	f := openTest(t, file)
	fill(t, f, 0, entries)
	empty(t, f, entries)
	soundPages(t, f)
	if metaOf(t, file).freeList != noFreeList {
		t.Error("every commit writes the list of free pages")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return file, metaOf(t, file)
}

// TestFreeListIsKept: a file that was closed has the list of its free pages, and
// they are used when it is opened again.
func TestFreeListIsKept(t *testing.T) {
	file, meta := freed(t)
	if meta.freeList == noFreeList {
		t.Fatal("Close did not keep the list of free pages")
	}
	f := openTest(t, file)
	defer f.Close()
	fill(t, f, 0, 1000)
	soundPages(t, f)
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
			f, err := OpenFile(file, FileOptions{})
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("OpenFile = %v, want %v", err, ErrDamaged)
			}
		})
	}
}
