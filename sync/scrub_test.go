package sync

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// TestScrubFindsDamage damages a row under a database that nobody reads. The scrub
// counts it and says so, and does so again at its next time.
func TestScrubFindsDamage(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	file := filepath.Join(t.TempDir(), "data.db")
	db := openTest(t, Options{File: file})
	set(t, db, "users/ann", `"`+strings.Repeat("a", 1500)+`"`)
	set(t, db, "users/bob", `"`+strings.Repeat("b", 1500)+`"`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.ReplaceAll(whole, []byte("bbbbbbbb"), []byte("DDDDDDDD"))
	if err := os.WriteFile(file, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(Options{File: file, ScrubEvery: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		s := db.Stats()
		if s.Scrubs != 1 || s.Damaged == 0 {
			t.Errorf("after the first scrub: %d scrubs, %d damaged", s.Scrubs, s.Damaged)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if again := db.Stats(); again.Scrubs != 2 || again.Damaged <= s.Damaged {
			t.Errorf("after the second: %d scrubs, %d damaged", again.Scrubs, again.Damaged)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
	db, err = Open(Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.store.View(readsDamage("users/bob")); !errors.Is(err, fault.ErrDamaged) {
		t.Errorf("read of the damaged row = %v", err)
	}
	if err := db.store.View(readsDamage("users/ann")); err != nil {
		t.Errorf("read of another row = %v", err)
	}
}

func readsDamage(path string) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		_, err := tx.Get(tree.MustParsePath(path))
		return err
	}
}

// TestDamagedRow: a task that runs into a damaged row fails, the others of its
// batch do not.
func TestDamagedRow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	db, err := Open(Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	big := fmt.Sprintf("%q", strings.Repeat("v", 1500))
	set(t, db, "/", fmt.Sprintf(`{"bad":{"a":%s,"b":%s},"good":%s}`, big, big, big))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	damageFile(t, file)

	db, err = Open(Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() // not checked: it is damaged
	g := closeGate(t, db)
	bad := start(t, db, putOf(t, "/bad/a/x", "1"))
	good := start(t, db, putOf(t, "/good", "1"))
	queued(db, 2)
	close(g.open)
	if err := <-bad; !errors.Is(err, fault.ErrUnavailable) || !errors.Is(err, store.ErrDamaged) {
		t.Errorf("write into damage: %v, want %v and %v", err, fault.ErrUnavailable, store.ErrDamaged)
	}
	if err := <-good; err != nil {
		t.Errorf("write beside damage: %v", err)
	}
	want(t, db, "/good", "1")
}

// damageFile makes the row of /bad/a unreadable.
func damageFile(t *testing.T, file string) {
	t.Helper()
	f, err := bolt.Open(file, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = f.Update(func(tx *bolt.Tx) error {
		rows := tx.Bucket([]byte("n"))
		return rows.ForEach(func(k, v []byte) error {
			if strings.HasSuffix(string(k), "a") && len(k) == 9 {
				return rows.Put(k, []byte("?"))
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}
