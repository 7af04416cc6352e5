package kv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

const walkEntries = 48 // on one leaf

func walkKey(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func walkValue(n int) string { return fmt.Sprintf("value %050d", n) }

// walkFile returns an open file with the entries of a leaf, its name, and how often it has
// reported damage.
func walkFile(t *testing.T) (f *File, name string, reports *int) {
	name = filepath.Join(t.TempDir(), "x.db")
	f = openTest(t, name)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	update(t, f, func(tx Tx) error {
		for n := range walkEntries {
			if err := tx.Put(Rows, walkKey(n), []byte(walkValue(n))); err != nil {
				return err
			}
		}
		return WriteFormat(tx)
	})
	reports = new(int)
	f.damaged = func(error) { *reports++ }
	return f, name, reports
}

// walkTo walks from the first entry for so many entries, and returns how many there were
// without an error.
func walkTo(t *testing.T, f *File, most int, what string) (n int, failed error) {
	t.Helper()
	tx, err := f.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	c := tx.Cursor(Rows)
	for k, v := c.Seek(nil); k != nil; k, v = c.Next() {
		if !bytes.Equal(k, walkKey(n)) || string(v) != walkValue(n) {
			t.Fatalf("%s: entry %d is shown as %x, %q", what, n, k, v)
		}
		if n++; n == most {
			break
		}
	}
	return n, c.Err()
}

// TestWalkOverDamage damages each entry of a leaf in several places. A walk shows what was
// stored up to there, and stops with an error. Damage behind its end is not reported.
func TestWalkOverDamage(t *testing.T) {
	f, name, reports := walkFile(t)
	at, count := rowsLeaf(t, name, walkKey(0))
	if count != walkEntries {
		t.Fatalf("the leaf has %d entries", count)
	}
	disk, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	page := make([]byte, os.Getpagesize())
	if _, err := disk.ReadAt(page, at); err != nil {
		t.Fatal(err)
	}
	for i := 2; i < count; i++ { // a walk begins at the first one, and checks the second
		element := at + pageHeader + int64(i*pageElement)
		value := element + int64(le.Uint32(page[element-at+4:])+le.Uint32(page[element-at+8:]))
		for where, bits := range map[int64]byte{
			element:          2,  // flags
			element + 4:      4,  // place
			element + 4 + 3:  1,  // place, outside of the page
			element + 12:     1,  // length of the value
			element + 12 + 3: 64, // length, beyond the page
			value - 1:        1,  // the key
			value + 3:        1,
			value + 56:       8, // the checksum
		} {
			far := where == element+4+3 || where == element+12+3 // the search of a beginning may meet it
			what := fmt.Sprintf("entry %d, byte %d", i, where-at)
			flip(t, disk, where, bits)
			*reports = 0
			if n, err := walkTo(t, f, i-1, what); (n != i-1 || err != nil || *reports > 0) && !(far && n == 0 && err != nil) {
				t.Errorf("%s: a walk through %d entries before it shows %d, %d reports, %v", what, i-1, n, *reports, err)
			}
			*reports = 0
			if n, err := walkTo(t, f, 0, what); (n < i-1 || n > i || *reports != 1) && !(far && n == 0) || err == nil {
				t.Errorf("%s: a walk shows %d entries, %d reports, %v", what, n, *reports, err)
			}
			flip(t, disk, where, bits)
		}
	}
	if n, err := walkTo(t, f, 0, "without damage"); n != count || err != nil || *reports > 1 {
		t.Errorf("without damage a walk shows %d entries: %v", n, err)
	}
}

// TestWalkTurns: a cursor that turns round, or goes elsewhere, shows the neighbour of what it
// showed before.
func TestWalkTurns(t *testing.T) {
	f, _, _ := walkFile(t)
	fill(t, f, 1<<40, 500) // leaves behind the first one
	tx, err := f.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	var keys [][]byte
	c := tx.Cursor(Rows)
	for k, _ := c.Seek(nil); k != nil; k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	if len(keys) != walkEntries+500 || c.Err() != nil {
		t.Fatal(len(keys), c.Err())
	}
	rng := rand.New(rand.NewPCG(1, 2))
	at := 0
	c.Seek(nil)
	for step := range 20_000 {
		var k []byte
		switch choice := rng.IntN(40); {
		case choice == 0 || at == 0 || at == len(keys)-1:
			at = 1 + rng.IntN(len(keys)-2)
			k, _ = c.Seek(keys[at])
		case choice < 4:
			at--
			k, _ = c.Prev()
		default:
			at++
			k, _ = c.Next()
		}
		if !bytes.Equal(k, keys[at]) || c.Err() != nil {
			t.Fatalf("step %d: the cursor shows %x, want entry %d, %x: %v", step, k, at, keys[at], c.Err())
		}
	}
}
