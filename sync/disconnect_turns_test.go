package sync

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/pending"
	"github.com/dogwooddb/dogwood/sync/queue"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree/store"
)

// leaves registers n increments for the disconnect, at /left/k0 and so on.
func (c *client) leaves(n int) {
	c.t.Helper()
	for i := range n {
		c.send(fmt.Sprintf(`{"r":%d,"a":"o","b":{"p":"/left/k%d","d":{".sv":{"increment":1}}}}`, i, i))
	}
	c.settle()
	if got := strings.Count(strings.Join(c.frames(), ""), `"ok"`); got != n {
		c.t.Fatalf("%d of %d operations were registered", got, n)
	}
}

func wantLeft(t *testing.T, db *Database, n int) {
	t.Helper()
	left := make([]string, n)
	for i := range left {
		left[i] = fmt.Sprintf(`"k%d":1`, i)
	}
	w := putOf(t, "/left", "{"+strings.Join(left, ",")+"}")
	want(t, db, "/left", w.Update[0].Value.Text())
}

// records returns how many records of what sessions left the store has.
func records(t *testing.T, db *Database) (n int) {
	t.Helper()
	err := db.store.View(func(tx *store.Tx) error {
		for _, err := range tx.Disconnects().All() {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDisconnectTakesTurns: what a session left is carried out in many small steps, and
// the write of another session comes between the first of them.
func TestDisconnectTakesTurns(t *testing.T) {
	const operations = 2 * maxUnacked
	log := new(recordLog)
	db := openTest(t, Options{Change: log})
	db.batchTime = 0 // few tasks are a batch
	c := connect(t, db, "a", 0)
	c.leaves(operations)
	other := connect(t, db, "other", 0)
	before := len(log.all())

	g := closeGate(t, db)
	ended := make(chan error)
	go func() { ended <- db.runDisconnect(c.session) }() // as Session.Close does
	queued(db, maxUnacked)
	if n, _, _ := db.queue.Waiting(); n != maxUnacked {
		t.Errorf("%d operations are queued, want %d", n, maxUnacked)
	}
	other.send(`{"r":1,"a":"p","b":{"p":"/other","d":1}}`)
	close(g.open)
	other.settle()
	if err := <-ended; err != nil {
		t.Error(err)
	}

	all := log.all()[before:]
	at, ahead := 0, 0
	for ; at < len(all) && !strings.Contains(all[at], `"/other"`); at++ {
		ahead += strings.Count(all[at], "/left/")
	}
	if at == len(all) || ahead > 10 {
		t.Errorf("%d of %d operations were carried out before the write of another session", ahead, operations)
	}
	wantLeft(t, db, operations)
	if n := records(t, db); n != 0 {
		t.Errorf("%d records are left", n)
	}
}

// A copyingLog copies a database at each commit, as a crash before it would leave it.
type copyingLog struct {
	t      *testing.T
	file   string
	copies []string // nil: none are made
}

func (l *copyingLog) Append(_ context.Context, _ string, prev uint64, _ []byte) (uint64, error) {
	if l.copies != nil {
		l.copies = append(l.copies, copyFile(l.t, l.file))
	}
	return prev + 1, nil
}

// TestDisconnectSurvivesKills: wherever the server is killed while it carries out what a
// session left, the next start carries out the rest: nothing is lost or done twice, and no
// update is done in part.
func TestDisconnectSurvivesKills(t *testing.T) {
	tier.Unraced(t)
	const operations = 10
	log := &copyingLog{t: t, file: filepath.Join(t.TempDir(), "db")}
	db := openTest(t, Options{File: log.file, Change: log})
	c := connect(t, db, "a", 0)
	long := strings.Repeat("x", queue.MaxBatchBytes/3) // so few are in one batch
	for i := range operations {
		c.send(fmt.Sprintf(`{"r":%d,"a":"om","b":{"p":"/","d":{"left/k%d":{".sv":{"increment":1}},"long/k%d":%q}}}`, i, i, i, long[:len(long)-i]))
		c.settle()
	}
	log.copies = []string{}
	c.session.Close()
	var steps []int
	for i, file := range append(log.copies, copyFile(t, log.file)) {
		s, err := store.Open(file, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, records(t, &Database{core: &core{store: s}}))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // nothing is left for the second time
			again, err := Open(Options{File: file, Rules: rules.Open()})
			if err != nil {
				t.Fatal(err)
			}
			wantLeft(t, again, operations)
			checkTest(t, again)
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			if t.Failed() {
				t.Fatalf("killed before commit %d", i)
			}
		}
	}
	if len(steps) < 4 || slices.ContainsFunc(steps, func(n int) bool { return n%2 > 0 }) {
		t.Errorf("the kills left %d records, want several numbers, and no half of an update", steps)
	}
}

// TestCloseDuringDisconnect: a database that is closed while what a session left is queued
// does not wait for that. The next start carries out what is left.
func TestCloseDuringDisconnect(t *testing.T) {
	const operations = maxUnacked + 100
	file := filepath.Join(t.TempDir(), "a.db")
	db, err := Open(Options{File: file, Rules: rules.Open(), ScrubEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, db, "a", 0)
	c.leaves(operations)
	g := closeGate(t, db)
	ended := make(chan error)
	go func() { ended <- db.runDisconnect(c.session) }()
	queued(db, maxUnacked)
	if n := db.BeginClose(); n != maxUnacked {
		t.Errorf("BeginClose() = %d, want %d", n, maxUnacked)
	}
	if err := <-ended; !errors.Is(err, fault.ErrClosed) {
		t.Errorf("the disconnect: %v, want %v", err, fault.ErrClosed)
	}
	close(g.open)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	wantLeft(t, openTest(t, Options{File: file}), operations)
}

// TestLateOperations: operations that the store failed for are queued again after a
// commit, and each is carried out once.
func TestLateOperations(t *testing.T) {
	const operations = 100
	log := new(faultyLog)
	db := openTest(t, Options{Change: log})
	c := connect(t, db, "a", 0)
	c.leaves(operations)
	log.set(true)
	c.session.Close()
	log.set(false)
	if n := records(t, db); n != operations {
		t.Fatalf("%d records after the store failed, want %d", n, operations)
	}
	for n := 0; records(t, db) > 0; n++ {
		set(t, db, "/x", fmt.Sprint(n))
	}
	wantLeft(t, db, operations)
}

// TestLargeDisconnect: a large operation is prepared beside other writes and takes effect
// as a whole, once, if its condition holds and the rules allow it.
func TestLargeDisconnect(t *testing.T) {
	tier.Unraced(t)
	value := manyValues(pending.MaxBytes / pending.ValueCost / 2)
	const gated = `{"rules":{".read":true,"other":{".write":true},"x":{".write":"root.child('open').val() == true"}}}`
	for _, c := range []struct {
		name, condition, then string
		carried               bool
	}{
		{"allowed", "", "", true},
		{"refused", "", `{"open":false}`, false},
		{"condition holds", `,"if":{"p":"s","d":1}`, `{"x":{"s":1},"open":true}`, true},
		{"condition does not hold", `,"if":{"p":"s","d":1}`, `{"x":{"s":2},"open":true}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := openTest(t, Options{Rules: parseRules(t, gated)})
			set(t, db, "/open", "true")
			a := connect(t, db, "a", 0)
			a.send(fmt.Sprintf(`{"r":1,"a":"o","b":{"p":"/x","d":%s%s}}`, value, c.condition))
			a.send(`{"r":2,"a":"o","b":{"p":"/other","d":1}}`)
			a.settle()
			if c.then != "" {
				set(t, db, "/", c.then)
			}
			tasks := db.Stats().Writes
			before := get(t, db, "/x")
			a.session.Close()
			if n := db.Stats().Writes - tasks; n < 2 || c.carried && n < 4 {
				t.Errorf("the operations were %d tasks, want more", n)
			}
			if c.carried {
				before = value
			}
			want(t, db, "/x", before)
			want(t, db, "/other", "1")
			if n := records(t, db); n != 0 {
				t.Errorf("%d records are left", n)
			}
			checkAudience(t, db)
		})
	}
}

// TestLargeDisconnectIsCurrent: a large operation is decided in the state that it is
// committed in, whatever is written while it is prepared; if that goes on, without being
// prepared.
func TestLargeDisconnectIsCurrent(t *testing.T) {
	const gated = `{"rules":{".read":true,"x":{".write":"root.child('open').val() >= 0"}}}`
	for _, c := range []struct {
		name    string
		changes int    // while it is decided, one each time
		last    string // of them
		carried bool
	}{
		{"forbidden meanwhile", 1, "-1", false},
		{"changed again and again", largeTries, "1", true},
		{"changed again and again, and then forbidden", largeTries, "-1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var db *Database
			var ending atomic.Bool
			changes := 0
			// The clock is read when the operation is decided, by the goroutine that ends the
			// session. The committer, which has the lock of the audience, reads it for entries of
			// the log, too.
			now := func() time.Time {
				if ending.Load() && changes < c.changes && db.audience.TryLock() {
					db.audience.Unlock()
					changes++
					value := fmt.Sprint(10 + changes)
					if changes == c.changes {
						value = c.last
					}
					ending.Store(false)
					set(t, db, "/open", value)
					ending.Store(true)
				}
				return time.Now()
			}
			db = openTest(t, Options{Rules: parseRules(t, gated), Now: now})
			set(t, db, "/open", "0")
			a := connect(t, db, "a", 0)
			value := manyValues(pending.MaxBytes / pending.ValueCost / 2)
			a.send(fmt.Sprintf(`{"r":1,"a":"o","b":{"p":"/x","d":%s}}`, value))
			a.settle()
			ending.Store(true)
			a.session.Close()
			ending.Store(false)
			if changes != c.changes {
				t.Errorf("the operation was decided %d times outside of the committer, want %d", changes, c.changes)
			}
			if !c.carried {
				value = "null"
			}
			want(t, db, "/x", value)
			if n := records(t, db); n != 0 {
				t.Errorf("%d records are left", n)
			}
			checkAudience(t, db)
		})
	}
}
