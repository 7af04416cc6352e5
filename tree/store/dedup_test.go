package store

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

var testNow = time.Unix(1_795_239_618, 0)

// writeOf is the n-th write of a writer.
func writeOf(writer int, n uint64) (id WriteID) {
	id.Number = n
	binary.BigEndian.PutUint32(id.Writer[:], uint32(writer)*0x9E3779B9) // not in the order of their names
	binary.BigEndian.PutUint32(id.Writer[12:], uint32(writer))
	return id
}

func record(t *testing.T, s *Store, now time.Time, ids ...WriteID) {
	t.Helper()
	put(t, s, func(tx *Tx) error {
		for _, id := range ids {
			if err := tx.Dedup().Record(id, now); err != nil {
				return err
			}
		}
		return nil
	})
}

func wantRecorded(t *testing.T, s *Store, id WriteID, want bool) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		got, err := tx.Dedup().Has(id)
		if got != want {
			t.Errorf("write %d of %x is on record: %v, want %v", id.Number, id.Writer, got, want)
		}
		return err
	})
}

// TestWritesAreOnRecord in memory, and in a file that is compacted and opened again.
func TestWritesAreOnRecord(t *testing.T) {
	for _, file := range []string{"", filepath.Join(t.TempDir(), "data.db")} {
		s := open(t, file)
		record(t, s, testNow, writeOf(1, 1), writeOf(1, 2), writeOf(1, 4), writeOf(2, MaxWriteNumber), writeOf(1, 4))
		if file != "" {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := Compact(file, nil); err != nil {
				t.Fatal(err)
			}
			s = open(t, file)
		}
		for _, id := range []WriteID{writeOf(1, 1), writeOf(1, 2), writeOf(1, 4), writeOf(2, MaxWriteNumber)} {
			wantRecorded(t, s, id, true)
		}
		for _, id := range []WriteID{writeOf(1, 3), writeOf(1, 5), writeOf(2, 1), writeOf(3, 1)} {
			wantRecorded(t, s, id, false)
		}
		check(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func writersLeft(t *testing.T, s *Store, from, to int) (left []int) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		for n := from; n <= to; n++ {
			if has, err := tx.Dedup().Has(writeOf(n, 1)); err != nil {
				return err
			} else if has {
				left = append(left, n)
			}
		}
		return nil
	})
	return left
}

// TestWritersAreForgotten: those not heard from for the longest go when there are
// too many, and when they have not been heard from for long.
func TestWritersAreForgotten(t *testing.T) {
	s, err := Open("", Options{WriterLimit: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	steps := []struct {
		after  time.Duration
		writer int
		want   string
	}{
		{0, 1, "[1]"},
		{time.Hour, 2, "[1 2]"},
		{time.Hour, 3, "[1 2 3]"},
		{time.Hour, 1, "[1 2 3]"},
		{0, 4, "[1 3 4]"},
		{-9 * time.Hour, 3, "[1 3 4]"},
		{10 * time.Hour, 5, "[1 4 5]"},
		{WriterLife - time.Hour, 5, "[1 4 5]"},
		{time.Hour, 6, "[5 6]"},
		{2 * WriterLife, 5, "[5 6]"},
		{0, 7, "[5 7]"},
	}
	now := testNow
	for i, step := range steps {
		now = now.Add(step.after)
		record(t, s, now, writeOf(step.writer, 1))
		if got := fmt.Sprint(writersLeft(t, s, 1, 9)); got != step.want {
			t.Errorf("step %d: writers %s, want %s", i, got, step.want)
		}
		check(t, s)
	}
}

// TestRecordIsCheap: neither the number of writes nor that of writers matters.
func TestRecordIsCheap(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	for n := range 2000 {
		record(t, s, testNow, writeOf(n, 1), writeOf(0, uint64(n)+2))
	}
	stats := put(t, s, func(tx *Tx) error { return tx.Dedup().Record(writeOf(0, 3000), testNow) })
	if stats.Written != 1 || stats.Read > 2 {
		t.Errorf("a write of a known writer: %+v, want one row", stats)
	}
	stats = put(t, s, func(tx *Tx) error { return tx.Dedup().Record(writeOf(9999, 1), testNow) })
	if stats.Written != 3 || stats.Read > 3 {
		t.Errorf("a write of a new writer: %+v, want three rows", stats)
	}
}

// hourKey is the key of the entry that says when a writer was heard from.
func hourKey(now time.Time, w [16]byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{'h'}, uint32(now.Unix()/3600)), w[:]...)
}

func TestCheckFindsDamagedWriters(t *testing.T) {
	id := writeOf(1, 1)
	for name, damage := range map[string]func(tx *Tx) error{
		"unreadable":  func(tx *Tx) error { return tx.put(kv.Writers, append([]byte{'w'}, id.Writer[:]...), []byte{1}) },
		"no writes":   func(tx *Tx) error { return tx.put(kv.Writers, append([]byte{'w'}, id.Writer[:]...), nil) },
		"wrong count": func(tx *Tx) error { return tx.put(kv.Writers, []byte{'n'}, []byte{2}) },
		"no count":    func(tx *Tx) error { return tx.put(kv.Writers, []byte{'n'}, []byte{0x80}) },
		"no hour":     func(tx *Tx) error { return tx.delete(kv.Writers, hourKey(testNow, id.Writer)) },
		"two hours":   func(tx *Tx) error { return tx.put(kv.Writers, hourKey(time.Unix(7*3600, 0), id.Writer), nil) },
		"stray hour": func(tx *Tx) error {
			return tx.put(kv.Writers, hourKey(time.Unix(7*3600, 0), writeOf(2, 1).Writer), nil)
		},
		"stray key": func(tx *Tx) error { return tx.put(kv.Writers, []byte("x"), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, "")
			defer s.Close()
			record(t, s, testNow, id)
			check(t, s)
			put(t, s, damage)
			if findings, err := s.Check(); err != nil || len(findings) == 0 {
				t.Errorf("Check found nothing (%v)", err)
			}
		})
	}
}

// TestFileWithoutWriters opens a file from before writers were kept: to read, and
// then to write.
func TestFileWithoutWriters(t *testing.T) {
	file := written(t)
	withoutSums(t, file)
	db, err := bolt.Open(file, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte{byte(kv.Writers)}) })
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if findings, err := CheckFile(file); err != nil || len(findings) > 0 {
		t.Errorf("CheckFile = %v, %v", findings, err)
	}
	s, err := Open(file, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	wantRecorded(t, s, writeOf(1, 1), false)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, file)
	defer s.Close()
	record(t, s, testNow, writeOf(1, 1))
	wantRecorded(t, s, writeOf(1, 1), true)
	check(t, s)
}
