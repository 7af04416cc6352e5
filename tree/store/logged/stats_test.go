package logged

import (
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// TestOldest: the log tells since when something is not applied, also when it was taken from
// the log of a process that was killed.
func TestOldest(t *testing.T) {
	m := start(t, t.TempDir(), Options{})
	commit := func(value string) {
		t.Helper()
		tx, err := m.store.Begin(true)
		if err == nil {
			err = tx.Put(kv.Rows, []byte("k"), []byte(value))
		}
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if at := m.log.Stats().Oldest; !at.IsZero() {
		t.Errorf("a new log has commits since %v", at)
	}
	before := time.Now()
	commit("1")
	m.store.applying.Lock() // however slow the machine is
	first := m.log.Stats()
	if first.Unapplied > 0 && (first.Oldest.Before(before) || first.Oldest.After(time.Now())) {
		t.Errorf("after a commit: %+v", first)
	}
	m.store.applying.Unlock()
	commit("2")
	if at := m.log.Stats().Oldest; at.Before(first.Oldest) && !at.IsZero() {
		t.Errorf("a second commit changes the time of the oldest from %v to %v", first.Oldest, at)
	}
	k := m.killed()
	if s := k.log.Stats(); s.Oldest.IsZero() != (s.Unapplied == 0) {
		t.Errorf("what was taken from the log: %+v", s)
	}
	k.stop()
	if err := m.store.Apply(); err != nil {
		t.Fatal(err)
	}
	if s := m.log.Stats(); !s.Oldest.IsZero() || s.Unapplied != 0 {
		t.Errorf("after all was applied: %+v", s)
	}
	m.stop()
}

// TestReleasedWithoutRows: records without rows do not hold the log when the file needs none of it
// any more: one that is closed, as for a drop, or after a backup.
func TestReleasedWithoutRows(t *testing.T) {
	for name, complete := range map[string]func(m *machine){
		"close": func(m *machine) { m.must(m.store.Close()) },
		"backup": func(m *machine) {
			tx, err := m.store.Snapshot()
			m.must(err)
			tx.Rollback()
			m.must(m.store.rest())
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, t.TempDir(), Options{})
			m.must(m.put("a"))
			m.must(m.store.Apply())
			m.commit(func(tx *Tx) error { tx.SetChange(entryOf(1)); return nil })
			complete(m)
			m.fill()
			if n := m.log.Stats().Segments; n > 3 {
				t.Errorf("the log has %d segments", n)
			}
			if list := m.log.wal.Databases(); len(list) > 0 {
				t.Errorf("the log has records that are not released: %v", list)
			}
			if name != "close" {
				m.must(m.store.Close())
			}
			m.must(m.log.Close())
		})
	}
}
