//go:build linux

package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/disktest"
)

const failingCommits = 16

// failingWork is tracedWork on a disk whose syncs fail now and then. It says what it
// begins, what is refused and what is acknowledged. What fails it tries again, a few
// times. If restart is set, it opens the file anew after an unknown outcome.
func failingWork(file string, restart bool) error {
	runtime.LockOSThread() // syncs are counted for each thread
	log, err := os.Create(file + ".acks")
	if err != nil {
		return err
	}
	w := &failingRunner{file: file, log: log, restart: restart}
	if !w.open() {
		return nil
	}
	w.say('a', 0)
	for n := 1; n <= failingCommits; n++ {
		done, err := w.commit(n)
		if !done || err != nil {
			return err
		}
		if n%3 == 0 {
			_, _ = w.s.Reclaim(40, nil) // it may fail
		}
	}
	_ = w.s.Close() // it keeps the list of free pages, or not
	return log.Close()
}

type failingRunner struct {
	s       *Store
	file    string
	log     *os.File
	restart bool
}

// mostTries is how often something that fails is tried.
const mostTries = 4

func (w *failingRunner) say(what byte, n int) {
	if _, err := w.log.WriteAt(fmt.Appendf(nil, "%c%d", what, n), 0); err != nil {
		panic(err)
	}
}

func (w *failingRunner) open() bool {
	for range mostTries {
		s, err := Open(w.file, Options{})
		if err == nil {
			s.kv.(*boltKV).pause = 0
			w.s = s
			return true
		}
	}
	return false
}

func (w *failingRunner) commit(n int) (done bool, err error) {
	for range mostTries {
		w.say('b', n)
		err := crashCommit(w.s, n)
		if err == nil {
			w.say('a', n)
			return true, nil
		}
		unknown := errors.Is(err, ErrUnknown)
		if !unknown {
			w.say('r', n)
		}
		if unknown && w.restart {
			_ = w.s.Close()
			if !w.open() {
				return false, nil
			}
		}
		at, err := w.state()
		switch {
		case err != nil:
			continue // nothing can be read
		case at == n && unknown && w.restart:
			w.say('a', n)
			return true, nil
		case at != n-1:
			return false, fmt.Errorf("after commit %d failed the store has state %d", n, at)
		}
	}
	return false, nil
}

func (w *failingRunner) state() (n int, err error) {
	err = w.s.View(func(tx *Tx) error {
		v, err := tx.Get(tree.MustParsePath("n"))
		if !v.IsEmpty() && err == nil {
			n, err = strconv.Atoi(v.JSON())
		}
		return err
	})
	return n, err
}

// A failingRun is a run of failingWork.
type failingRun struct {
	syncs   string // that fail, see disktest.FailSyncs
	restart bool
}

// TestFailingSyncs has syncs fail: one, two in a row, so that the commit cannot be
// taken back at once, and all from one on. After that it cuts the power everywhere.
// What was acknowledged is there, what was refused is not, and the file opens.
// With DOGWOOD_KILLS of 1000 or more each sync fails and the power is cut at each
// event.
func TestFailingSyncs(t *testing.T) {
	oneGoroutine(t)
	step, share := 11, 16 // odd: every other sync is that of a meta page
	if powerCuts() >= 10 {
		step, share = 1, 1
	}
	states := crashStates(t, failingCommits)
	cuts, failed := 0, 0
	for i, kind := range []struct {
		syncs   func(n int) string
		restart bool
	}{
		{func(n int) string { return fmt.Sprint(n) }, false},
		{func(n int) string { return fmt.Sprintf("%d..%d", n, n+1) }, false},
		{func(n int) string { return fmt.Sprintf("%d..%d", n, n+1) }, true},
		{func(n int) string { return fmt.Sprintf("%d+", n) }, false},
	} {
		for n := 1 + i%step; ; n += step {
			run := failingRun{kind.syncs(n), kind.restart}
			events := run.traced(t)
			if !slices.ContainsFunc(events, isFailedSync) {
				break
			}
			failed++
			cuts += run.cut(t, events, states, rand.New(rand.NewPCG(uint64(i), uint64(n))), share)
			if t.Failed() {
				t.Fatalf("with failing syncs %+v", run)
			}
		}
	}
	t.Logf("%d power failures in %d runs with failing syncs", cuts, failed)
	if failed < 8 || cuts < failed {
		t.Error("too little took place")
	}
}

func isFailedSync(e disktest.Event) bool { return e.Do == disktest.FailedSync }

func (r failingRun) traced(t *testing.T) []disktest.Event {
	t.Helper()
	dir := t.TempDir()
	file, log := filepath.Join(dir, "data.db"), filepath.Join(dir, "trace")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := disktest.Trace(log, self)
	if err != nil {
		t.Skip(err)
	}
	disktest.FailSyncs(cmd, r.syncs)
	cmd.Env = append(os.Environ(), "DOGWOOD_FAILING_FILE="+file, fmt.Sprintf("DOGWOOD_FAILING_RESTART=%t", r.restart))
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "ptrace") {
			t.Skipf("strace cannot trace here: %v\n%s", err, out)
		}
		t.Fatalf("%+v: %v\n%s", r, err, out)
	}
	events, err := disktest.ReadTrace(log)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(events, func(e disktest.Event) bool { return e.File != file && e.File != file+".acks" })
}

// cut replays a run and cuts the power at one of share events from the first failure
// on.
func (r failingRun) cut(t *testing.T, events []disktest.Event, states []string, rnd *rand.Rand, share int) (cuts int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "crashed.db")
	d := disktest.Disk{Rand: rnd}
	acked, next, failed := -1, -1, false
	for _, e := range events {
		if !strings.HasSuffix(e.File, ".acks") {
			d.Run(e)
			failed = failed || isFailedSync(e)
		} else if n, err := strconv.Atoi(string(e.Data[1:])); err != nil {
			t.Fatal(err)
		} else {
			switch e.Data[0] {
			case 'a':
				acked, next = n, n
			case 'b':
				next = n
			case 'r':
				next = acked
			}
		}
		if acked < 0 || !failed || rnd.IntN(share) > 0 {
			continue
		}
		cuts++
		if err := d.Crash(rnd).Write(file); err != nil {
			t.Fatal(err)
		}
		wantStateUpTo(t, file, states, acked, next)
	}
	return cuts
}
