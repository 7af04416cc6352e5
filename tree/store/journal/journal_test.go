package journal

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A ring is a journal in a store, with a transaction for each record.
type ring struct {
	t        *testing.T
	store    kv.Store
	revision uint64
	most     Size
	size     Size
}

type ticking struct{ kv.Tx }

func (ticking) Tick() error { return nil }

func (r *ring) begin(writable bool) kv.Tx {
	r.t.Helper()
	tx, err := r.store.Begin(writable)
	if err != nil {
		r.t.Fatal(err)
	}
	return tx
}

func (r *ring) journal(tx kv.Tx, change *Size) Journal {
	return Of(ticking{tx}, State{Revision: r.revision, Most: r.most, Size: r.size, Change: change})
}

func (r *ring) add(record []byte) {
	r.t.Helper()
	tx := r.begin(true)
	r.revision++
	var change Size
	err := r.journal(tx, &change).Append(r.revision, record)
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.size = r.size.After(change)
}

// records returns the revisions of the journal and their records, from the oldest on.
func (r *ring) records() (revisions []uint64, data [][]byte) {
	r.t.Helper()
	tx := r.begin(false)
	defer tx.Rollback()
	k, _ := tx.Cursor(kv.Journal).Seek(nil)
	oldest := uint64(0)
	for _, b := range k[:8] {
		oldest = oldest<<8 | uint64(b)
	}
	for rec, err := range r.journal(tx, new(Size)).Since(oldest) {
		if err != nil {
			r.t.Fatal(err)
		}
		revisions, data = append(revisions, rec.Revision), append(data, rec.Data)
	}
	return revisions, data
}

func openFile(t *testing.T, name string) *kv.File {
	t.Helper()
	f, err := kv.OpenFile(name, kv.FileOptions{NoSync: true})
	if err == nil {
		err = f.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if !f.Fresh() {
		return f
	}
	tx, err := f.Begin(true)
	if err == nil {
		err = errors.Join(kv.WriteFormat(tx), tx.Commit())
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestPieces: a record of any size comes back as it was, also when the file was opened
// again, and what the journal holds is counted.
func TestPieces(t *testing.T) {
	name := filepath.Join(t.TempDir(), "db")
	file := openFile(t, name)
	r := &ring{t: t, store: file, most: Size{DefaultLimit, DefaultBytes}}
	var want [][]byte
	for i, size := range []int{1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 10*pieceBytes + 5, 2, 0, 3 * pieceBytes, 7} {
		record := bytes.Repeat([]byte{byte('a' + i)}, size)
		want = append(want, record)
		r.add(record)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	file = openFile(t, name)
	defer file.Close()
	r.store = file
	tx := r.begin(false)
	opened, err := Open(tx)
	tx.Rollback()
	if opened != r.size || opened.Records != len(want) || err != nil {
		t.Errorf("the journal is counted as %+v, and as %+v (%v) when it is opened", r.size, opened, err)
	}
	if _, got := r.records(); !slices.EqualFunc(got, want, bytes.Equal) {
		t.Error("the journal has other records than were put into it")
	}
}

// TestTrim: a full journal loses a share at once, whole records, and never the newest.
func TestTrim(t *testing.T) {
	const most = 64 * pieceBytes
	r := &ring{t: t, store: kv.NewMemory(), most: Size{1000, most}}
	trims := 0
	for range 200 {
		before := r.size
		r.add(make([]byte, pieceBytes+10))
		if r.size.Bytes > most {
			t.Fatalf("the journal has %d bytes, want at most %d", r.size.Bytes, most)
		}
		if r.size.Records <= before.Records {
			trims++
		}
	}
	if trims > 200/3 {
		t.Errorf("%d of 200 commits trimmed the journal, want one now and then", trims)
	}
	revisions, data := r.records()
	if last := revisions[len(revisions)-1]; last != 200 || len(revisions) != r.size.Records {
		t.Errorf("the journal ends with %d and has %d records, counted %+v", last, len(revisions), r.size)
	}
	for i, d := range data {
		if len(d) != pieceBytes+10 {
			t.Errorf("record %d has %d bytes", revisions[i], len(d))
		}
	}
	r.add(make([]byte, 2*most))
	if revisions, _ := r.records(); fmt.Sprint(revisions) != "[201]" {
		t.Errorf("after a record larger than the journal it has %v, want the record", revisions)
	}
}
