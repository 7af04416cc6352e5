package logged

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree/store/entry"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// commitEntry commits a transaction with so many bytes of rows and an entry.
func commitEntry(t *testing.T, s *Store, revision uint64, bytes int) {
	t.Helper()
	tx, err := s.Begin(true)
	if err == nil {
		err = tx.Put(kv.Rows, []byte("a"), make([]byte, bytes))
	}
	if err == nil {
		tx.(*Tx).SetChange(entryOf(revision))
		err = tx.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func entryOf(revision uint64) []byte {
	var e entry.Encoder
	e.Add(&entry.Setting{Name: "revision", Value: fmt.Sprint(revision)})
	return e.Seal(entry.Header{Database: 1, Run: 1, Revision: revision})
}

// revisions returns those that a reader gets.
func revisions(t *testing.T, s *Store, from uint64) (list []uint64) {
	t.Helper()
	tail, err := NewTail(s, from, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tail.Close()
	for {
		e, ok, err := tail.Ready()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return list
		}
		list = append(list, e.Revision)
	}
}

// TestTailSkipsVoid: commits that go to the file, and whose record alone a crash leaves,
// are not read, and the database stays the same one. Those that the file has are read.
func TestTailSkipsVoid(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	for seed := range tier.Pick[uint64](2, 2, 40) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		m := &machine{t: t, dir: t.TempDir(), keep: 1 << 40}
		m.open()
		commitEntry(t, m.store, 1, 10) // the file has a format from here on
		database, revision := m.store.Database(), uint64(1)
		want := []uint64{1}
		for range 20 {
			switch rnd.IntN(5) {
			case 0, 1:
				revision++
				commitEntry(t, m.store, revision, 1+rnd.IntN(1000))
				want = append(want, revision)
			case 2: // to the file
				revision++
				commitEntry(t, m.store, revision, maxRows)
				want = append(want, revision)
			case 3: // and the crash is in front of the commit of the file
				if _, err := m.store.log.announce(m.store.position, entryOf(revision+1)); err != nil {
					t.Fatal(err)
				}
				if rnd.IntN(2) == 0 { // without a crash, the commit failed
					break
				}
				fallthrough
			default:
				next := m.killed()
				m.stop()
				if err := os.RemoveAll(m.dir); err != nil { // it is large
					t.Fatal(err)
				}
				m = next
			}
			if got := revisions(t, m.store, 1); !slices.Equal(got, want) {
				t.Fatalf("seed %d: read %v, want %v", seed, got, want)
			}
			if m.store.Database() != database {
				t.Fatalf("seed %d: the database is another one", seed)
			}
		}
		m.stop()
	}
}

// TestVoidIsNotKept: a commit past the log that failed, and was the last one, leaves nothing that
// the log has to keep for the file, which stays the same database.
func TestVoidIsNotKept(t *testing.T) {
	m := start(t, t.TempDir(), Options{})
	commitEntry(t, m.store, 1, 10)
	if _, err := m.store.log.announce(m.store.position, entryOf(2)); err != nil {
		t.Fatal(err)
	}
	database := m.store.Database()
	m.must(m.store.Close())
	file, err := kv.OpenFile(filepath.Join(m.dir, "a.db"), kv.FileOptions{ReadOnly: true})
	m.must(err)
	place, err := PlaceOf(file)
	m.must(errors.Join(err, file.Close()))
	m.must(m.log.Close())
	m.log, err = OpenLog(filepath.Join(m.dir, "log"), LogOptions{})
	m.must(err)
	m.must(m.log.Release(place))
	m.must(m.log.Keep())
	if kept, _, err := m.log.LimitKept(time.Now()); len(kept) > 0 || err != nil {
		t.Errorf("kept: %v, %v", kept, err)
	}
	if m.store = m.another("a.db"); m.store.Database() != database {
		t.Error("the database is another one")
	}
	m.stop()
}

// TestReleaseOfCopy: a copy of a file that is open, which needs nothing, has the log forget nothing
// of the open one.
func TestReleaseOfCopy(t *testing.T) {
	m := start(t, t.TempDir(), Options{})
	m.must(m.put("a"))
	m.rest()
	place, err := PlaceOf(m.store.file)
	m.must(err)
	m.must(m.store.needLog()) // and the process stops before there is a record
	m.must(m.log.Release(place))
	m.fill()
	next := m.killed()
	next.stop()
	m.stop()
}
