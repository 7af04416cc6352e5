//go:build linux

package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/disktest"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

const failingCommits = 16

// failingWork is tracedWork on a disk whose syncs fail now and then. It says what it
// begins, what is refused and what is acknowledged. What fails it tries again, a few
// times. If restart is set, it opens the file anew after an unknown outcome.
func failingWork(file string, restart bool) error {
	runtime.LockOSThread() // syncs are counted for each thread
	ledger, err := disktest.NewLedger(file)
	if err != nil {
		return err
	}
	w := &failingRunner{file: file, Ledger: ledger, restart: restart}
	if !w.open() {
		return nil
	}
	w.Say(disktest.Acked, 0)
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
	return ledger.Close()
}

type failingRunner struct {
	*disktest.Ledger
	s       *Store
	file    string
	restart bool
}

// mostTries is how often something that fails is tried.
const mostTries = 4

func (w *failingRunner) open() bool {
	for range mostTries {
		s, err := Open(w.file, Options{})
		if err == nil {
			s.bolt.Inject()
			w.s = s
			return true
		}
	}
	return false
}

func (w *failingRunner) commit(n int) (done bool, err error) {
	for range mostTries {
		w.Say(disktest.Begun, n)
		err := crashCommit(w.s, n)
		if err == nil {
			w.Say(disktest.Acked, n)
			return true, nil
		}
		unknown := errors.Is(err, ErrUnknown)
		if !unknown {
			w.Say(disktest.Refused, n)
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
			w.Say(disktest.Acked, n)
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
	tier.Unraced(t)
	tier.Need(t, tier.Full)
	step, share := 37, 64 // odd: every other sync is that of a meta page
	if powerCuts() >= 10 {
		step, share = 1, 1
	}
	states := crashStates(t, failingCommits)
	crashed := filepath.Join(t.TempDir(), "crashed.db")
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
			r := run.traced(t)
			if !r.Failed() {
				break
			}
			failed++
			r.Rand, r.Share = rand.New(rand.NewPCG(uint64(i), uint64(n))), share
			more, err := r.Cut(func(left disktest.Image, acked, next int) error {
				if err := left.Write(crashed); err != nil {
					return err
				}
				wantStateUpTo(t, crashed, states, acked, next)
				return nil
			})
			if cuts += more; err != nil || t.Failed() {
				t.Fatalf("with failing syncs %+v: %v", run, err)
			}
		}
	}
	t.Logf("%d power failures in %d runs with failing syncs", cuts, failed)
	if failed < 8 || cuts < failed {
		t.Error("too little took place")
	}
}

func (r failingRun) traced(t *testing.T) disktest.Replay {
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
	return disktest.Replay{Events: events, File: file}
}
