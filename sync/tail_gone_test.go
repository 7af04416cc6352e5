package sync

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// wantTail wants a reader from a revision on to get those of a list, or to be told that some are
// gone.
func wantTail(t *testing.T, db *Database, from uint64, gone bool, revisions ...uint64) {
	t.Helper()
	var got []uint64
	tail, err := db.Tail(from)
	if err == nil {
		defer tail.Close()
		for ok := true; ok; {
			e, more, failed := tail.Ready()
			if ok, err = more, failed; ok {
				got = append(got, e.Revision)
			}
		}
	}
	if errors.Is(err, store.ErrTrimmed) != gone || err != nil && !gone || !slices.Equal(got, revisions) {
		t.Errorf("from revision %d there is %v, %v; want %v, and some gone: %t", from, got, err, revisions, gone)
	}
}

// TestTailOfWhatIsGone: a reader of commits that the log never had, or has no more, is told so, and
// not that there is nothing new.
func TestTailOfWhatIsGone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	db, err := Open(Options{File: file, Rules: rules.Open()})
	if err != nil {
		t.Fatal(err)
	}
	set(t, db, "/n", "1")
	set(t, db, "/n", "2")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := logged.OpenLog(store.LogDir(dir), logged.LogOptions{SegmentBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	logs := store.Options{Log: log, NoSync: true}
	db = openTest(t, Options{File: file, Store: logs})
	wantTail(t, db, 0, false)
	wantTail(t, db, 1, true)
	wantTail(t, db, 2, true)
	wantTail(t, db, 3, false)
	set(t, db, "/n", "3")
	wantTail(t, db, 0, false, 3)
	wantTail(t, db, 2, true)
	wantTail(t, db, 3, false, 3)
	wantTail(t, db, 4, false)

	other := openTest(t, Options{File: filepath.Join(dir, "b"), Store: logs})
	for i := range 12 { // the other one takes all of the log
		set(t, other, "/n", fmt.Sprintf(`"%020000d"`, i))
		for _, d := range []*Database{db, other} {
			if _, err := d.Backup(io.Discard); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantTail(t, db, 0, false)
	wantTail(t, db, 1, true)
	wantTail(t, db, 3, true)
	wantTail(t, db, 4, false)
}
