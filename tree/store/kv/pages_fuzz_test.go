package kv

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
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
	const entries = 100
	name := f.TempDir() + "/db"
	k := openTest(f, name)
	for range 2 { // what is deleted becomes free
		fill(f, k, 0, entries)
		empty(f, k, entries)
	}
	fill(f, k, 0, entries)
	soundPages(f, k)
	if err := k.Close(); err != nil {
		f.Fatal(err)
	}
	file, err := os.ReadFile(name)
	if err != nil {
		f.Fatal(err)
	}
	used, err := UsedBytes(bytes.NewReader(file))
	if err != nil {
		f.Fatal(err)
	}
	return file[:used]
}
