package store

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// FuzzPageWalk: a file that was damaged in any way is walked without a fault. One
// that was not is found to be sound.
func FuzzPageWalk(f *testing.F) {
	good := smallFile(f)
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 16, 1, 0, 0, 0, 25, 255})
	f.Fuzz(func(t *testing.T, edits []byte) {
		file := bytes.Clone(good)
		for ; len(edits) >= 5; edits = edits[5:] {
			at := binary.BigEndian.Uint32(edits) % uint32(len(file))
			file[at] = edits[4]
		}
		err := walkAll(file)
		if err != nil && bytes.Equal(file, good) {
			t.Fatalf("a sound file: %v", err)
		}
	})
}

func walkAll(file []byte) error {
	r := bytes.NewReader(file)
	if err := probeMeta(r, int64(len(file))); err != nil {
		return err
	}
	meta, err := newestMeta(r)
	if err != nil {
		return err
	}
	w := pageWalk{f: r, meta: meta}
	return w.run()
}

// smallFile returns the pages of a file with branches, overflow pages and free
// pages.
func smallFile(f *testing.F) []byte {
	name := f.TempDir() + "/db"
	s, err := Open(name, Options{})
	if err != nil {
		f.Fatal(err)
	}
	for range 2 { // what is replaced becomes free
		if err := load(f, s, tree.MustParsePath("rows"), LoadOptions{}, &rowsText{n: 100}); err != nil {
			f.Fatal(err)
		}
	}
	wantClean(f, s)
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	file, err := os.ReadFile(name)
	if err != nil {
		f.Fatal(err)
	}
	meta, err := newestMeta(bytes.NewReader(file))
	if err != nil {
		f.Fatal(err)
	}
	return file[:meta.pages*uint64(meta.pageSize)]
}
