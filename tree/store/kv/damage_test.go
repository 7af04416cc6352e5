package kv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestDamagedElement damages the head of each element of a leaf under an open file. A cursor
// that is sent to any key, or to a gap, stops at what was stored there, or at an error: never
// at an entry that it has not verified.
func TestDamagedElement(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	f := openTest(t, file)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	const entries = 60
	key := func(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
	update(t, f, func(tx Tx) error {
		for n := range entries {
			if err := tx.Put(Rows, key(2*n+1), fmt.Appendf(nil, "value %050d", 2*n+1)); err != nil {
				return err
			}
		}
		return WriteFormat(tx)
	})
	at, count := rowsLeaf(t, file, key(1))
	disk, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	failed := 0
	for i := range count {
		for _, bit := range []int{1, 6, 31, 34, 65, 98} { // of flags, twice, and more; place; lengths
			where := at + pageHeader + int64(i*pageElement+bit/8)
			flip(t, disk, where, 1<<(bit%8))
			failed += seekAll(t, f, key, entries, fmt.Sprintf("element %d, bit %d", i, bit))
			flip(t, disk, where, 1<<(bit%8))
		}
	}
	if failed < 5*count {
		t.Errorf("only %d of the reads failed", failed)
	}
	if failed := seekAll(t, f, key, entries, "without damage"); failed > 0 {
		t.Errorf("%d reads failed without damage", failed)
	}
}

// rowsLeaf returns where in a file the leaf begins that has a row, and its elements.
func rowsLeaf(t *testing.T, file string, row []byte) (at int64, count int) {
	t.Helper()
	all, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for page := 2 * os.Getpagesize(); page < len(all); page += os.Getpagesize() {
		buf := all[page:]
		if le.Uint16(buf[8:]) == flagLeaf && bytes.Contains(buf[:os.Getpagesize()], append(row, "value"...)) {
			return int64(page), int(le.Uint16(buf[10:]))
		}
	}
	t.Fatal("the file has no such leaf")
	return 0, 0
}

func flip(t *testing.T, f *os.File, at int64, bits byte) {
	t.Helper()
	var b [1]byte
	_, err := f.ReadAt(b[:], at)
	if err == nil {
		b[0] ^= bits
		_, err = f.WriteAt(b[:], at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// seekAll sends a cursor to each key, and in front of it, and reports how many errors it met.
func seekAll(t *testing.T, f *File, key func(n int) []byte, entries int, what string) (failed int) {
	t.Helper()
	tx, err := f.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for n := range 2 * entries {
		c := tx.Cursor(Rows)
		k, v := c.Seek(key(n))
		want := fmt.Sprintf("value %050d", n|1)
		switch {
		case c.Err() != nil && k == nil && v == nil:
			failed++
		case c.Err() != nil:
			t.Fatalf("%s: at %d the cursor shows %x with the error %v", what, n, k, c.Err())
		case !bytes.Equal(k, key(n|1)) || string(v) != want:
			t.Fatalf("%s: at %d the cursor shows %x, %q, want %q", what, n, k, v, want)
		}
	}
	return failed
}
