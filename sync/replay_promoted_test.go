package sync

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/replay"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// newHistory returns a history with an open database.
func newHistory(t *testing.T) *history {
	h := &history{T: t, dir: t.TempDir()}
	h.now.Store(1_764_000_000_000)
	h.open()
	return h
}

// copied is an empty store.
func (h *history) copied() (file string, to *store.Store) {
	h.Helper()
	file = filepath.Join(h.TempDir(), "copy")
	to, err := store.Open(file, store.Options{NoSync: true})
	if err != nil {
		h.Fatal(err)
	}
	return file, to
}

// promote opens a file that was replayed as any other database.
func (h *history) promote(file string) *Database {
	h.Helper()
	db, err := Open(Options{File: file, Store: store.Options{NoSync: true}, ScrubEvery: -1, Now: h.clock, Rules: rules.Open()})
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() {
		checkTest(h.T, db)
		if err := db.Close(); err != nil {
			h.Error(err)
		}
	})
	return db
}

// statesOf returns how far definitions are, without what they have done since the database was opened.
func statesOf(t *testing.T, db *Database) []declared.Status {
	t.Helper()
	list, err := db.DataStatus()
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i].Activity = declared.Activity{}
	}
	return list
}

// eventually waits until something is so. Writes let the committer look at what is due.
func eventually(t *testing.T, db *Database, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is %.500s, with the states %+v", get(t, db, "/"), statesOf(t, db))
		}
		set(t, db, "/tick", fmt.Sprint(time.Now().UnixNano()))
	}
}

func isReady(t *testing.T, db *Database) func() bool {
	return func() bool {
		for _, s := range statesOf(t, db) {
			if s.State != declared.Ready {
				return false
			}
		}
		return true
	}
}

// TestReplayPromoted: a file that was replayed goes on as the original would: nodes expire at the same
// times, what is paused stays so, and nothing that is built is built again.
func TestReplayPromoted(t *testing.T) {
	h := newHistory(t)
	deploy(t, h.db, `"gone": {"expire": "/x/$k", "after": "1h"}, "n": {"count": "/x/$k", "to": "/n"},
		"name": {"map": "/u/$k", "to": "/names/{data.val()}", "unique": true}, "tag": {"map": "/d/$x", "to": "/tag/{data.val()}"},
		"off": {"map": "/p/$k", "to": "/q/$k"}, "order": {"index": "/x", "by": ["a", "b"]}`)
	set(t, h.db, "/x/a", "1")
	set(t, h.db, "/u", `{"k":"ann"}`)
	set(t, h.db, "/d", `{"1":"red","2":"red"}`)
	h.now.Add(30 * time.Minute.Milliseconds())
	set(t, h.db, "/x/b", "1")
	h.now.Add(10 * time.Minute.Milliseconds())
	set(t, h.db, "/x/a", "1") // as it was: it expires later
	for _, name := range []string{"off", "order"} {
		if err := h.db.ControlData(t.Context(), name, declared.Pause); err != nil {
			t.Fatal(err)
		}
	}
	set(t, h.db, "/p/k", "1")
	states := statesOf(t, h.db)
	h.close()
	file, to := h.copied()
	h.replay(filepath.Join(h.dir, "db"), to)
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	equalFiles(t, file, filepath.Join(h.dir, "db"))

	h.now.Add(55 * time.Minute.Milliseconds()) // b is due and a is not
	db := h.promote(file)
	if got := statesOf(t, db); !reflect.DeepEqual(got, states) {
		t.Errorf("states %+v, want %+v", got, states)
	}
	eventually(t, db, func() bool { return get(t, db, "/x/b") == "null" })
	want(t, db, "/x", `{"a":1}`)
	want(t, db, "/n", "1")
	want(t, db, "/q", "null")
	if _, err := db.Write(t.Context(), putOf(t, "/u/other", `"ann"`)); err == nil {
		t.Error("a name is given twice")
	}
	set(t, db, "/d/1", "null")
	want(t, db, "/tag", `{"red":true}`)
	set(t, db, "/d/2", "null")
	want(t, db, "/tag", "null")
	h.now.Add(6 * time.Minute.Milliseconds())
	eventually(t, db, func() bool { return get(t, db, "/x") == "null" })
	want(t, db, "/n", "null")
}

// TestReplayOlder: earlier versions did not note rows and states of declared data. A replica of such a log
// builds its definitions again, also if it follows a later version from the middle of a build on.
func TestReplayOlder(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	for name, steps := range map[string]int{"all of it": 1 << 30, "none of it": 0, "half of a build": 4} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			set(t, h.db, "/x", numbered(1500, func(i int) string { return fmt.Sprintf(`"t%d"`, i%7) }))
			deploy(t, h.db, `"gone": {"expire": "/x/$k", "after": "1h"}, "tag": {"map": "/x/$k", "to": "/tag/{data.val()}"},
				"n": {"count": "/x/$k", "to": "/n"}`)
			eventually(t, h.db, isReady(t, h.db))
			set(t, h.db, "/x/last", `"t8"`)
			h.close()
			file, to := h.copied()
			h.replayAs(to, func(op entry.Operation, _ uint64, behind int) entry.Operation {
				if isBeside(op) && behind < steps {
					return nil
				}
				return op
			})
			if err := to.Close(); err != nil {
				t.Fatal(err)
			}
			db := h.promote(file)
			eventually(t, db, isReady(t, db))
			h.checkDeclared(db)
			want(t, db, "/n", "1501")
			h.now.Add(2 * time.Hour.Milliseconds())
			eventually(t, db, func() bool { return get(t, db, "/x") == "null" })
			want(t, db, "/tag", "null")
			want(t, db, "/n", "null")
		})
	}
}

// checkDeclared compares what definitions keep with what follows.
func (h *history) checkDeclared(db *Database) {
	h.Helper()
	err := db.snapshot(func(tx *store.Tx) error {
		return declared.Check(h.Context(), tx, h.clock(), func(name, text string) { h.Errorf("%s: %s", name, text) })
	})
	if err != nil {
		h.Fatal(err)
	}
}

// isBeside reports whether an operation is one that earlier versions did not note.
func isBeside(op entry.Operation) bool {
	switch op.(type) {
	case *entry.States, *entry.Kept:
		return true
	}
	return false
}

// replayAs carries out all of the log with other operations, nil for none. They are of a revision, and of a
// number of entries behind the first data document, negative if there is none.
func (h *history) replayAs(to *store.Store, as func(op entry.Operation, revision uint64, behind int) entry.Operation) {
	h.Helper()
	from, err := store.Open(filepath.Join(h.dir, "db"), store.Options{ReadOnly: true, ReadLog: true})
	if err != nil {
		h.Fatal(err)
	}
	defer from.Close()
	tail, err := from.Tail(1)
	if err != nil {
		h.Fatal(err)
	}
	defer tail.Close()
	r, passed, behind := replay.New(to), uint64(0), -1
	for {
		e, ok, err := tail.Ready()
		if err != nil {
			h.Fatal(err)
		}
		if !ok {
			break
		}
		var enc entry.Encoder
		for op, err := range e.Operations() {
			if err != nil {
				h.Fatal(err)
			}
			if _, ok := op.(*entry.Data); ok && behind < 0 {
				behind = 0
			}
			if op = as(op, e.Revision, behind); op != nil {
				enc.Add(op)
			}
		}
		if behind >= 0 {
			behind++
		}
		if enc.Empty() { // such a commit had no revision
			passed++
			continue
		}
		e.Revision -= passed
		if e, _, err = entry.Next(enc.Seal(e.Header)); err == nil {
			err = r.Add(e)
		}
		if err != nil {
			h.Fatal(err)
		}
	}
	if behind < 10 {
		h.Errorf("the build had %d commits", behind)
	}
	if err := r.Close(); err != nil {
		h.Fatal(err)
	}
}
