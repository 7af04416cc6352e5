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
	"sync/atomic"
	"testing"

	"github.com/dogwooddb/dogwood/internal/disktest"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

// failingLogWork is tracedLogWork on a disk whose system calls fail now and then. It says
// what it begins, what is refused and what is acknowledged. It tries a few times.
func failingLogWork(dir string) error {
	runtime.LockOSThread() // calls are counted for each thread
	ledger, err := disktest.NewLedger(dir)
	if err != nil {
		return err
	}
	w := &failingPair{dir: dir, Ledger: ledger}
	if !w.open() {
		return nil
	}
	w.Say(disktest.Acked, 0)
	for step := 1; step <= 2*failingCommits; step++ {
		if done, err := w.step(step); !done || err != nil {
			return err
		}
		if step%6 == 0 {
			_, _ = w.a.Reclaim(40, nil) // it may fail
		}
		if step == failingCommits {
			_ = w.close() // the next one takes from the log what is not in the files
			if !w.open() {
				return nil
			}
		}
	}
	_ = w.close()
	return ledger.Close()
}

type failingPair struct {
	*disktest.Ledger
	*loggedPair
	dir string
}

func (w *failingPair) open() bool {
	for range mostTries {
		p, err := openPair(w.dir, false)
		if err == nil {
			p.a.bolt.Inject()
			p.b.bolt.Inject()
			w.loggedPair = p
			return true
		}
	}
	return false
}

// step makes a step. When the outcome of one try is unknown, that the next one is refused
// does not settle it.
func (w *failingPair) step(step int) (done bool, err error) {
	unknown := false
	for range mostTries {
		w.Say(disktest.Begun, step)
		var err error
		if step%2 == 1 {
			err = crashCommit(w.a, (step+1)/2)
		} else {
			err = w.putNumber(step / 2)
		}
		if err == nil {
			w.Say(disktest.Acked, step)
			return true, nil
		}
		if unknown = unknown || errors.Is(err, ErrUnknown); !unknown {
			w.Say(disktest.Refused, step)
		}
		cause := err
		at, err := w.at()
		switch {
		case err != nil:
			continue // nothing can be read
		case at != step-1:
			return false, fmt.Errorf("after step %d failed (%w) the stores are at step %d", step, cause, at)
		}
	}
	return false, nil
}

// at returns the step that the stores show.
func (w *failingPair) at() (step int, err error) {
	number, err := w.number()
	if err != nil {
		return 0, err
	}
	err = w.a.View(func(tx *Tx) error {
		v, err := tx.Get(tree.MustParsePath("n"))
		if v.IsEmpty() || err != nil {
			return err
		}
		n, err := strconv.Atoi(v.JSON())
		step = n + number
		return err
	})
	return step, err
}

// A failingCall is a system call that fails.
type failingCall struct{ calls, errno string }

// failingCalls are those that change the files or the log: synced writes of the log, writes
// of both, their syncs, and how files get their size and their names.
var failingCalls = []failingCall{
	{"pwritev2", "EIO"},
	{"pwritev2", "ENOSPC"},
	{"pwrite64", "EIO"},
	{"pwrite64", "ENOSPC"},
	{"fsync", "EIO"},
	{"fdatasync", "EIO"},
	{"ftruncate", "ENOSPC"},
	{"renameat", "EIO"},
	{"unlinkat", "EIO"},
	{"pwritev2,pwrite64,fsync,fdatasync", "EIO"},
	{"pwritev2,pwrite64", "ENOSPC"},
}

// failingPatterns say which calls of a kind fail, as strace reads it: the n-th, two in a row, and
// all from one on.
var failingPatterns = []func(n int) string{
	func(n int) string { return fmt.Sprint(n) },
	func(n int) string { return fmt.Sprintf("%d..%d", n, n+1) },
	func(n int) string { return fmt.Sprintf("%d+", n) },
}

// TestFailingLog has system calls on the log and the files fail, in each pattern. Then it cuts the
// power. Acknowledged steps are there, refused ones are not, and everything opens.
func TestFailingLog(t *testing.T) {
	tier.Unraced(t)
	tier.Need(t, tier.Full)
	long := tier.Pick(false, false, true)
	step, share := 109, 200
	if long {
		step, share = 1, 4
	}
	states := crashStates(t, failingCommits)
	var cuts, runs atomic.Int64
	t.Run("calls", func(t *testing.T) {
		for i, c := range failingCalls {
			for j, when := range failingPatterns {
				if !long && (i+j)%3 > 0 {
					continue
				}
				t.Run(c.calls+","+c.errno+","+when(1), func(t *testing.T) {
					t.Parallel()
					for n := 1 + (i+5*j)%min(step, 4); ; n += step {
						r, failed := c.traced(t, when(n))
						if !failed {
							break
						}
						r.Rand, r.Share = rand.New(rand.NewPCG(uint64(i), uint64(n))), share
						cuts.Add(int64(cutPair(t, r, states, when(n))))
						runs.Add(1)
					}
				})
			}
		}
	})
	t.Logf("%d power failures in %d runs", cuts.Load(), runs.Load())
	if int(runs.Load()) < len(failingCalls) || cuts.Load() < runs.Load() {
		t.Error("too little took place")
	}
}

// cutPair cuts the power in a run of failingLogWork, and returns how often.
func cutPair(t *testing.T, r disktest.Replay, states []string, when string) (cuts int) {
	t.Helper()
	crashed := filepath.Join(t.TempDir(), "crashed")
	cuts, err := r.CutAll(crashed, func(acked, next int) error { return wantPair(t, crashed, states, acked, next) })
	if err != nil || t.Failed() {
		t.Fatalf("with failing calls %s: %v", when, err)
	}
	return cuts
}

// TestFailingNeed has two calls in a row fail around the first commits, when the files begin
// to need the log, and cuts the power at each event after that: whatever of the failed
// attempts is on the disk, the log fits the files.
func TestFailingNeed(t *testing.T) {
	tier.Unraced(t)
	tier.Need(t, tier.Full)
	c := failingCall{"pwritev2,pwrite64,fsync,fdatasync", "EIO"}
	states, runs := crashStates(t, failingCommits), 0
	for n := 8; n < 28; n += tier.Pick(10, 10, 1) {
		when := fmt.Sprintf("%d..%d", n, n+1)
		r, failed := c.traced(t, when)
		if !failed {
			break
		}
		runs++
		for seed := range tier.Pick[uint64](1, 1, 8) {
			r.Rand, r.Share = rand.New(rand.NewPCG(seed, uint64(n))), tier.Pick(4, 4, 2)
			cutPair(t, r, states, when)
		}
	}
	if runs == 0 {
		t.Error("no call failed")
	}
}

// traced runs failingLogWork. failed is false if no call failed.
func (c failingCall) traced(t *testing.T, when string) (r disktest.Replay, failed bool) {
	t.Helper()
	parent := t.TempDir()
	defer os.RemoveAll(parent) // there are many
	dir, log := filepath.Join(parent, "data"), filepath.Join(parent, "trace")
	if err := os.MkdirAll(LogDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := disktest.TraceFolder(log, self)
	if err != nil {
		t.Skip(err)
	}
	disktest.Inject(cmd, c.calls, c.errno, when)
	cmd.Env = append(os.Environ(), "DOGWOOD_FAILING_LOG="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "ptrace") {
			t.Skipf("strace cannot trace here: %v\n%s", err, out)
		}
		t.Fatalf("%+v %s: %v\n%s", c, when, err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	r.File = dir
	r.Events, err = disktest.ReadTrace(log)
	if err != nil {
		t.Fatal(err)
	}
	return r, strings.Contains(string(text), "(INJECTED)")
}
