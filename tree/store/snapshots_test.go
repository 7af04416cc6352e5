package store

import (
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// TestSpares: a snapshot serves again until somebody writes, and is never one of
// an older state, wherever it began.
func TestSpares(t *testing.T) {
	for name, file := range map[string]string{"memory": "", "file": filepath.Join(t.TempDir(), "data.db")} {
		t.Run(name, func(t *testing.T) {
			s := open(t, file)
			idle := func(want int) {
				t.Helper()
				if got := len(s.snapshots.idle); got != want {
					t.Errorf("%d snapshots in the pool, want %d", got, want)
				}
			}
			first, second := begin(t, s, false), begin(t, s, false)
			used := first.kv
			first.Rollback()
			first.Rollback() // does nothing, so nobody has it twice
			idle(1)
			again := begin(t, s, false)
			if again.kv != used {
				t.Error("the snapshot did not serve again")
			}
			again.Rollback()

			w := begin(t, s, true)
			idle(0)
			during := begin(t, s, false)
			during.Rollback()
			idle(0)
			across := begin(t, s, false)
			if _, err := w.Put(tree.Root, tree.String("new")); err != nil {
				t.Fatal(err)
			}
			if err := w.Commit(); err != nil {
				t.Fatal(err)
			}
			second.Rollback()
			across.Rollback()
			idle(0) // both are of the state before
			var all []*Tx
			for range maxSnapshots + 3 {
				tx := begin(t, s, false)
				if n, err := tx.Get(tree.Root); err != nil || n != tree.String("new") {
					t.Fatalf("read %s, %v", n.Text(), err)
				}
				all = append(all, tx)
			}
			last := all[0]
			for _, tx := range all[1:] {
				tx.Rollback()
			}
			idle(maxSnapshots)
			begin(t, s, true).Rollback()
			idle(0)
			last.Rollback()
			idle(0)
			begin(t, s, false).Rollback()
			idle(1)
			if err := s.Close(); err != nil { // would wait for an open snapshot for ever
				t.Fatal(err)
			}
		})
	}
}

// TestSparesFollowWrites: whoever begins to read after a commit sees it, while others
// give back snapshots all the time.
func TestSparesFollowWrites(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "data.db"))
	defer s.Close()
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for last := uint64(0); ; {
				select {
				case <-stop:
					return
				default:
				}
				err := s.View(func(tx *Tx) error {
					n, err := tx.Get(tree.Root)
					if got := n.Text(); err == nil && tx.Revision() > 0 && got != strconv.FormatUint(tx.Revision(), 10) {
						t.Errorf("revision %d has %s", tx.Revision(), got)
					}
					if tx.Revision() < last {
						t.Errorf("revision %d after %d", tx.Revision(), last)
					}
					last = tx.Revision()
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range uint64(200) {
		put(t, s, func(tx *Tx) error {
			tx.SetRevision(i + 1)
			_, err := tx.Put(tree.Root, tree.Number(float64(i+1)))
			return err
		})
		if tx := begin(t, s, false); tx.Revision() != i+1 {
			t.Fatalf("after the commit of revision %d a reader has %d", i+1, tx.Revision())
		} else {
			tx.Rollback()
		}
	}
	close(stop)
	readers.Wait()
}

func begin(t *testing.T, s *Store, writable bool) *Tx {
	t.Helper()
	tx, err := s.Begin(writable)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}
