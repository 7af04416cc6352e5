package store

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// records returns the revisions of the journal and their records, from the oldest
// on.
func records(t *testing.T, s *Store) (revisions []uint64, data [][]byte) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		k, _ := tx.kv.Cursor(kv.Journal).Seek(nil)
		for r, err := range tx.Journal().Since(be(k)) {
			if err != nil {
				t.Fatal(err)
			}
			revisions, data = append(revisions, r.Revision), append(data, r.Data)
		}
		return nil
	})
	return revisions, data
}

func be(k []byte) (n uint64) {
	for _, b := range k[:8] {
		n = n<<8 | uint64(b)
	}
	return n
}

// TestJournalPieces: a record of any size comes back as it was, also when the
// file was opened again, and what the journal holds is counted.
func TestJournalPieces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	s := open(t, file)
	var want [][]byte
	for i, size := range []int{1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 10*pieceBytes + 5, 2, 0, 3 * pieceBytes, 7} {
		record := bytes.Repeat([]byte{byte('a' + i)}, size)
		want = append(want, record)
		put(t, s, func(tx *Tx) error {
			tx.SetRevision(uint64(i + 1))
			return tx.Journal().Append(uint64(i+1), record)
		})
	}
	counted := s.journal
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, file)
	defer s.Close()
	if s.journal != counted || counted.records != len(want) {
		t.Errorf("the journal is counted as %+v, and as %+v when it is opened", counted, s.journal)
	}
	if _, got := records(t, s); !slices.EqualFunc(got, want, bytes.Equal) {
		t.Error("the journal has other records than were put into it")
	}
}

// TestJournalTrims: a full journal loses a share at once, whole records, and
// never the newest.
func TestJournalTrims(t *testing.T) {
	const most = 64 * pieceBytes
	s, err := Open("", Options{JournalBytes: most, JournalLimit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	trims := 0
	for r := uint64(1); r <= 200; r++ {
		before := s.journal
		put(t, s, func(tx *Tx) error {
			tx.SetRevision(r)
			return tx.Journal().Append(r, make([]byte, pieceBytes+10))
		})
		if s.journal.bytes > most {
			t.Fatalf("the journal has %d bytes, want at most %d", s.journal.bytes, most)
		}
		if s.journal.records <= before.records {
			trims++
		}
	}
	if trims > 200/3 {
		t.Errorf("%d of 200 commits trimmed the journal, want one now and then", trims)
	}
	revisions, data := records(t, s)
	if last := revisions[len(revisions)-1]; last != 200 || len(revisions) != s.journal.records {
		t.Errorf("the journal ends with %d and has %d records, counted %+v", last, len(revisions), s.journal)
	}
	for i, d := range data {
		if len(d) != pieceBytes+10 {
			t.Errorf("record %d has %d bytes", revisions[i], len(d))
		}
	}
	put(t, s, func(tx *Tx) error {
		tx.SetRevision(201)
		return tx.Journal().Append(201, make([]byte, 2*most))
	})
	if revisions, _ := records(t, s); fmt.Sprint(revisions) != "[201]" {
		t.Errorf("after a record larger than the journal it has %v, want the record", revisions)
	}
}

// TestCheckJournal: a record that lacks a piece is found.
func TestCheckJournal(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	put(t, s, func(tx *Tx) error { return tx.Journal().Append(1, make([]byte, 3*pieceBytes)) })
	check(t, s)
	put(t, s, func(tx *Tx) error { return tx.delete(kv.Journal, nextPiece(idKey(1))) })
	findings, err := s.Check()
	if err != nil || len(findings) != 1 || !strings.Contains(findings[0].Error(), "piece is missing") {
		t.Errorf("Check() = %v, %v, want the piece that is missing", findings, err)
	}
}
