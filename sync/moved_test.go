package sync

import (
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/sync/fault"
)

// openMoving opens a database with a log, and returns a function that has its file moved away
// during the next commit, and brings it back.
func openMoving(t *testing.T) (db *Database, moving func(doing string, f func() error)) {
	t.Helper()
	var o Options
	var armed atomic.Bool
	inFile(t, &o, func(time.Duration) {
		if armed.CompareAndSwap(true, false) {
			if err := os.Rename(o.File, o.File+".away"); err != nil {
				t.Error(err)
			}
		}
	})
	db = openTest(t, o)
	return db, func(doing string, f func() error) {
		t.Helper()
		drained(t, db) // or a step of background work commits first
		armed.Store(true)
		if err := f(); !errors.Is(err, fault.ErrUnknown) {
			t.Errorf("%s: %v, want %v", doing, err, fault.ErrUnknown)
		}
		if !db.Failing() {
			t.Errorf("%s: no failure is known", doing)
		}
		if err := os.Rename(o.File+".away", o.File); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMovedDuringCommit: what is in memory follows a commit whose outcome is unknown, since the file
// was moved meanwhile: readers see the commit.
func TestMovedDuringCommit(t *testing.T) {
	db, moving := openMoving(t)
	m := newMirror(connect(t, db, "watch", 0))
	m.follow(`{"r":1,"a":"q","b":{"p":"/x","h":""}}`)
	m.follow(`{"r":2,"a":"q","b":{"p":"/list","q":{"i":".key","l":1,"vf":"r"},"t":1,"h":""}}`)
	m.read()
	moving("a write", func() error {
		_, err := db.Write(t.Context(), updateOf(t, "/", `{"x":1,"list/b":1}`))
		return err
	})
	want(t, db, "/x", "1")
	m.read()
	compareViews(t, db, m, "after a write of unknown outcome")
	set(t, db, "/list", `{"a":1}`)
	m.read()
	compareViews(t, db, m, "after the next write")
	m.session.Close()

	moving("a setting", func() error { return db.SetSetting(t.Context(), "name", "value") })
	if got := db.Setting("name"); got != "value" {
		t.Errorf("the setting is %q", got)
	}

	c := connect(t, db, "leaves", 0)
	c.leaves(1)
	moving("an operation of a session that ended", func() error { return db.runDisconnect(c.session) })
	for _, n := range []string{"1", "2"} { // the operation is tried again in front of them
		set(t, db, "/n", n)
		drained(t, db)
	}
	wantLeft(t, db, 1)
	c.session.Close()

	c = connect(t, db, "registers", 0)
	moving("an operation that is registered", func() error {
		c.send(`{"r":1,"a":"o","b":{"p":"/left/k1","d":{".sv":{"increment":1}}}}`)
		c.settle()
		return c.out.Closing()
	})
	c.session.Close()
	wantLeft(t, db, 2)
	if n := records(t, db); n != 0 {
		t.Errorf("%d records are left", n)
	}

	closed := parseRules(t, `{"rules":{}}`)
	moving("rules", func() error { return db.SetRules(t.Context(), closed) })
	for range 2 { // the second time they are those that are stored
		if _, err := db.Write(t.Context(), asUser(putOf(t, "/x", "3"))); !errors.Is(err, fault.ErrDenied) {
			t.Errorf("a write that the rules deny: %v", err)
		}
		if err := db.SetRules(t.Context(), closed); err != nil {
			t.Error(err)
		}
	}
	set(t, db, "/n", "3")
	if db.Failing() {
		t.Error("commits do not work again")
	}
}
