package logged

import (
	"errors"
	"testing"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// TestUnsure: if it is unknown whether the file on the disk says that it needs no log, no commit
// goes to the log alone before it says again that it does: after a crash, that would be taken
// for one of another file.
func TestUnsure(t *testing.T) {
	m := start(t, t.TempDir(), Options{})
	m.must(m.put("a"))
	m.must(m.store.Apply())
	read, err := m.store.Begin(false)
	m.must(err)
	faults := m.store.File().Inject()
	faults.Commit = func() error {
		read.Rollback() // leaves a snapshot, so the next transaction does not ask the file
		return errDisk
	}
	faults.PutBack = func() error { return errDisk }
	if err := m.store.rest(); !errors.Is(err, kv.ErrUnknown) {
		t.Fatalf("the file needs no log: %v, want %v", err, kv.ErrUnknown)
	}
	for range 2 {
		if err := m.put("refused"); !errors.Is(err, kv.ErrFailed) || errors.Is(err, kv.ErrUnknown) {
			t.Errorf("a commit while the file cannot be used: %v, want %v", err, kv.ErrFailed)
		}
	}
	*faults = kv.Faults{}
	m.must(m.put("b"))
	next := m.killed()
	tx, err := next.store.Begin(false)
	m.must(err)
	for _, key := range []string{"a", "b"} {
		if v, err := tx.Get(kv.Rows, []byte(key)); err != nil || v == nil {
			t.Errorf("after a crash there is no %s: %v", key, err)
		}
	}
	tx.Rollback()
	next.rest() // and it needs the log with another line from then on
	m.must(next.put("c"))
	again := next.killed()
	again.stop()
	next.stop()
	m.stop()
}
