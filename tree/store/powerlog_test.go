//go:build linux

package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/dogwooddb/dogwood/internal/disktest"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// A loggedPair is two stores with one log: the states of a test, and a number.
type loggedPair struct {
	log  *logged.Log
	a, b *Store
}

// openPair opens what a directory has. Segments and layers are small, so that there are many.
func openPair(dir string, noSync bool) (p *loggedPair, err error) {
	p = new(loggedPair)
	if p.log, err = logged.OpenLog(LogDir(dir), logged.LogOptions{SegmentBytes: 32 << 10}); err != nil {
		return nil, err
	}
	o := Options{Log: p.log, NoSync: noSync, FreezeBytes: 16 << 10}
	if p.a, err = Open(filepath.Join(dir, "a.db"), o); err == nil {
		p.b, err = Open(filepath.Join(dir, "b.db"), o)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *loggedPair) close() (err error) {
	for _, s := range []*Store{p.a, p.b} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return errors.Join(err, p.log.Close())
}

var pairNumber = tree.MustParsePath("number")

func (p *loggedPair) putNumber(n int) error {
	return p.b.Update(func(tx *Tx) error {
		_, err := tx.Put(pairNumber, tree.Number(float64(n)))
		return err
	})
}

func (p *loggedPair) number() (n int, err error) {
	err = p.b.View(func(tx *Tx) error {
		v, err := tx.Get(pairNumber)
		if v.IsEmpty() || err != nil {
			return err
		}
		n, err = strconv.Atoi(v.JSON())
		return err
	})
	return n, err
}

// tracedLogWork is tracedWork for two stores with a log. Halfway they are closed, and opened
// again.
func tracedLogWork(dir string) error {
	ledger, err := disktest.NewLedger(dir)
	if err != nil {
		return err
	}
	p, err := openPair(dir, false)
	if err != nil {
		return err
	}
	ledger.Say(disktest.Acked, 0)
	for n := 1; n <= tracedCommits; n++ {
		if err := errors.Join(crashCommit(p.a, n), p.putNumber(n)); err != nil {
			return fmt.Errorf("commit %d: %w", n, err)
		}
		ledger.Say(disktest.Acked, n)
		if n%3 == 0 {
			if _, err := p.a.Reclaim(40, nil); err != nil {
				return err
			}
		}
		if n == tracedCommits/2 {
			if err := p.close(); err != nil {
				return err
			}
			if p, err = openPair(dir, false); err != nil {
				return err
			}
		}
	}
	return errors.Join(p.close(), ledger.Close())
}

// TestPowerLossLogged has strace record what a process does to two files and their log, in
// one sequence, and cuts the power in it. Of what was not synced any sectors are left, and
// of changed names the first ones.
func TestPowerLossLogged(t *testing.T) {
	tier.Unraced(t)
	log, dir := filepath.Join(t.TempDir(), "trace"), filepath.Join(t.TempDir(), "data")
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
	cmd.Env = append(os.Environ(), "DOGWOOD_TRACED_LOG="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace here: %v\n%s", err, out)
	}
	events, err := disktest.ReadTrace(log)
	if err != nil {
		t.Fatal(err)
	}
	points := tier.Pick(30, 50, 12_000)
	states, rnd := crashStates(t, tracedCommits), rand.New(rand.NewPCG(1, 3))
	crashed := filepath.Join(t.TempDir(), "crashed")
	folder := disktest.NewFolder(dir)
	acked, cuts := -1, 0 // a file that never was complete is no database
	for i, e := range events {
		folder.Run(e)
		if e.Do == disktest.Write && e.File == dir+".ledger" {
			if acked, err = strconv.Atoi(string(e.Data[1:])); err != nil {
				t.Fatal(err)
			}
		}
		for ; acked >= 0 && cuts < points*(i+1)/len(events); cuts++ {
			if err := errors.Join(os.RemoveAll(crashed), os.MkdirAll(crashed, 0o700), folder.Crash(rnd, crashed)); err != nil {
				t.Fatal(err)
			}
			// A commit of a.db and the same one of b.db are two steps; the last of those that
			// were acknowledged may be followed by both.
			if err := wantPair(t, crashed, states, 2*acked, 2*acked+1, 2*acked+2); err != nil {
				t.Fatalf("power failure %d in event %d, after commit %d: %v", cuts, i, acked, err)
			}
		}
	}
	if acked != tracedCommits || cuts < points {
		t.Errorf("the record ends with commit %d and had %d power failures", acked, cuts)
	}
	t.Logf("%d power failures in %d events", cuts, len(events))
}

// wantPair looks at the files and the log after a power failure. Step 2n-1 is commit n of a.db,
// and step 2n that of b.db.
func wantPair(t *testing.T, dir string, states []string, steps ...int) error {
	t.Helper()
	p, err := openPair(dir, true)
	if err != nil {
		return err
	}
	defer func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}()
	at := slices.Index(states, crashState(t, p.a))
	number, err := p.number()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(steps, func(step int) bool { return at == (step+1)/2 && number == step/2 }) {
		return fmt.Errorf("a.db has state %d and b.db number %d, want one of the steps %v", at, number, steps)
	}
	check(t, p.a)
	check(t, p.b)
	if t.Failed() {
		return errors.New("the check failed")
	}
	return nil
}
