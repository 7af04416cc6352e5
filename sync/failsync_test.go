//go:build linux

package sync

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/disktest"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

const (
	failingSteps = 12
	failingEnv   = "DOGWOOD_FAILING_FILE"
)

// A failingRun takes a database from step to step: increments, rules with an index,
// imports, the removal of what they brought, operations that a session leaves, and
// its end.
type failingRun struct {
	t       *testing.T
	db      *Database
	session *Session
}

func (r *failingRun) step(n int) error {
	ctx := context.Background()
	switch n % 6 {
	case 1:
		text := fmt.Sprintf(`{"rules":{".read":true,".write":true,"list":{".indexOn":["n%d"]}}}`, n)
		parsed, err := rules.Parse(text)
		if err != nil {
			r.t.Fatal(err)
		}
		return r.db.SetRules(ctx, parsed)
	case 2:
		large := `{"in":{` + strings.Repeat(" ", n) + `"a":"` + strings.Repeat("a", 90_000) + `","b":1}}`
		_, err := r.db.Import(ctx, tree.MustParsePath("large"), strings.NewReader(large), nil)
		return err
	case 3:
		_, err := r.db.Write(ctx, putOf(r.t, "/large", "null"))
		return err
	case 4:
		r.session = r.db.NewSession(SessionOptions{ID: fmt.Sprint("session", n), Out: outbox.New(outbox.Realtime, 0, func() {})})
		done := make(chan error, 1)
		t := &registerTask{session: r.session, caller: Admin, done: func(err error) { done <- err }}
		t.update = putOf(r.t, fmt.Sprintf("/left/s%d", n), `{".sv":{"increment":1}}`).Update
		if err := r.db.add(ctx, t); err != nil {
			return err
		}
		return <-done
	case 5:
		return r.db.runDisconnect(r.session)
	}
	_, err := r.db.Write(ctx, updateOf(r.t, "/", fmt.Sprintf(`{"list/i%d":{"n1":1,"n7":2},"count":{".sv":{"increment":1}}}`, n)))
	return err
}

// state returns what steps change.
func (r *failingRun) state() (string, error) {
	n, err := r.db.Get(context.Background(), Read{Caller: Admin})
	return r.db.Rules().Source() + n.JSON(), err
}

// failingStates returns the state after each step, and what is there when the
// database is opened after it: what sessions left is carried out.
func failingStates(t *testing.T) (live, opened []string) {
	db := openTest(t, Options{Rules: rules.Open()})
	r := &failingRun{t: t, db: db}
	for n := range failingSteps + 1 {
		if n > 0 {
			if err := r.step(n); err != nil {
				t.Fatal(err)
			}
		}
		s, err := r.state()
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, s)
	}
	opened = append(opened, live...)
	for n := 4; n < failingSteps; n += 6 {
		opened[n] = live[n+1]
	}
	return live, opened
}

// TestFailingSyncsChild is what TestFailingSyncs traces.
func TestFailingSyncsChild(t *testing.T) {
	file := os.Getenv(failingEnv)
	if file == "" {
		t.Skip("a part of TestFailingSyncs")
	}
	runtime.LockOSThread() // syncs are counted for each thread
	live, _ := failingStates(t)
	ledger, err := disktest.NewLedger(file)
	if err != nil {
		t.Fatal(err)
	}
	db := openFailing(t, file)
	if db == nil {
		return
	}
	ledger.Say(disktest.Acked, 0)
	if err := db.do(t.Context(), &lockTask{}); err != nil {
		t.Fatal(err)
	}
	r := &failingRun{t: t, db: db}
	m := watchFailing(t, db)
	for n := 1; n <= failingSteps && r.tryStep(ledger, n, live); n++ {
		r.compareViews(m, n)
		if m.out.Closing() != nil { // the disk failed: a client connects again
			m.session.Close()
			m = watchFailing(t, db)
		}
	}
	m.session.Close()
	_ = db.Close()
}

// watchFailing connects a client that listens.
func watchFailing(t *testing.T, db *Database) *mirror {
	m := newMirror(connect(t, db, "watch", 0))
	m.follow(`{"r":1,"a":"q","b":{"p":"/","h":""}}`)
	m.follow(`{"r":2,"a":"q","b":{"p":"/list","q":{"i":".key","l":1,"vf":"r"},"t":1,"h":""}}`)
	m.read()
	return m
}

// compareViews compares what a client is shown after a step, if that can be read. The
// committer stands meanwhile: it may have something to try again.
func (r *failingRun) compareViews(m *mirror, n int) {
	p := &standTask{stands: make(chan struct{}), goOn: make(chan struct{})}
	if err := r.db.add(r.t.Context(), p); err != nil {
		r.t.Fatal(err)
	}
	<-p.stands
	defer close(p.goOn)
	if r.db.Usable() != nil {
		return
	}
	if m.read(); m.out.Closing() == nil {
		compareViews(r.t, r.db, m, fmt.Sprint("after step ", n))
	}
}

// A standTask keeps the committer until goOn is closed.
type standTask struct{ stands, goOn chan struct{} }

func (*standTask) size() int64 { return 0 }

func (*standTask) apply(*batch) error { return nil }

func (t *standTask) finish(error) {
	close(t.stands)
	<-t.goOn
}

// openFailing opens the database, if that works in a few tries.
func openFailing(t *testing.T, file string) *Database {
	for range 4 {
		if db, err := Open(Options{File: file, Rules: rules.Open()}); err == nil {
			db.batchTime = time.Hour
			return db
		}
	}
	return nil
}

// A lockTask keeps the committer on one thread.
type lockTask struct{ waiter }

func (*lockTask) size() int64 { return 0 }

func (*lockTask) apply(*batch) error {
	runtime.LockOSThread()
	return nil
}

// tryStep does a step, in a few tries. When one has failed and something can be
// read, it had no effect; but what a session left is tried again by itself.
func (r *failingRun) tryStep(ledger *disktest.Ledger, n int, live []string) bool {
	for range 4 {
		ledger.Say(disktest.Begun, n)
		err := r.step(n)
		if err == nil {
			ledger.Say(disktest.Acked, n)
			return true
		}
		late := n%6 == 5
		if !errors.Is(err, fault.ErrUnknown) && !late {
			ledger.Say(disktest.Refused, n)
		}
		if !r.awaitUsable() {
			return false
		}
		if got, err := r.state(); err == nil && got != live[n-1] && (!late || got != live[n]) {
			r.t.Fatalf("after step %d failed there is %.2000s", n, got)
		}
	}
	return false
}

// awaitUsable waits until something can be read, for a while.
func (r *failingRun) awaitUsable() bool {
	for range 15 {
		if r.db.Usable() == nil {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// TestFailingSyncs has the syncs of a database fail, and cuts the power after that:
// what was acknowledged is there, what was refused is not, the file opens, and those
// who listen see what is stored. With DOGWOOD_KILLS of 1000 or more each sync fails
// and the power is cut at each event.
func TestFailingSyncs(t *testing.T) {
	tier.Need(t, tier.Full)
	step, share := 13, 12 // odd: every other sync is that of a meta page
	if tier.Count("DOGWOOD_KILLS", 0, 32, 1000) >= 1000 {
		step, share = 1, 1
	}
	_, states := failingStates(t)
	var cuts, failed atomic.Int64
	t.Run("syncs", func(t *testing.T) {
		for i, kind := range []struct {
			name string
			when func(n int) string
		}{
			{"one", func(n int) string { return fmt.Sprint(n) }},
			{"two", func(n int) string { return fmt.Sprintf("%d..%d", n, n+1) }},
			{"all", func(n int) string { return fmt.Sprintf("%d+", n) }},
		} {
			t.Run(kind.name, func(t *testing.T) {
				t.Parallel() // a database that failed is mended once a second
				crashed := filepath.Join(t.TempDir(), "crashed.db")
				for n := 1; ; n += step {
					when := kind.when(n)
					r := tracedFailing(t, when)
					if !r.Failed() {
						break
					}
					failed.Add(1)
					r.Rand, r.Share = rand.New(rand.NewPCG(uint64(i), uint64(n))), share
					more, err := r.Cut(func(left disktest.Image, acked, next int) error {
						return errors.Join(left.Write(crashed), wantFailingState(crashed, states[acked], states[next]))
					})
					if cuts.Add(int64(more)); err != nil {
						t.Fatalf("with failing syncs %s: %v", when, err)
					}
				}
			})
		}
	})
	t.Logf("%d power failures in %d runs with failing syncs", cuts.Load(), failed.Load())
	if failed.Load() < 6 || cuts.Load() < failed.Load() {
		t.Error("too little took place")
	}
}

// tracedFailing runs the child.
func tracedFailing(t *testing.T, when string) disktest.Replay {
	t.Helper()
	dir := t.TempDir()
	file, log := filepath.Join(dir, "data.db"), filepath.Join(dir, "trace")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := disktest.Trace(log, self, "-test.run=^TestFailingSyncsChild$")
	if err != nil {
		t.Skip(err)
	}
	disktest.FailSyncs(cmd, when)
	cmd.Env = append(os.Environ(), failingEnv+"="+file, tier.LoggedVariable+"=") // its file alone is followed
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "ptrace") || errors.Is(err, exec.ErrNotFound) {
			t.Skipf("strace cannot trace here: %v\n%s", err, out)
		}
		t.Fatalf("with failing syncs %s: %v\n%s", when, err, out)
	}
	events, err := disktest.ReadTrace(log)
	if err != nil {
		t.Fatal(err)
	}
	return disktest.Replay{Events: events, File: file}
}

// wantFailingState opens a file after a power failure.
func wantFailingState(file, acked, next string) error {
	db, err := Open(Options{File: file, Rules: rules.Open(), Store: store.Options{NoSync: true}})
	if err != nil {
		return err
	}
	got, err := (&failingRun{db: db}).state()
	findings, checkErr := db.Check()
	if err := errors.Join(append(findings, err, checkErr, db.Close())...); err != nil {
		return err
	}
	if got != acked && got != next {
		return fmt.Errorf("there is %.2000s", got)
	}
	return nil
}
