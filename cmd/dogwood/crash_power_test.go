//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/disktest"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// tracedLoad is how long a server is under load that is traced, which slows it
// down. On a busy machine that can be too short for everything to take place: then the
// test is repeated with a longer load, up to mostTracedLoad.
const (
	tracedLoad     = time.Second
	mostTracedLoad = 32 * time.Second
)

// TestCrashPowerLoss has strace record what a server under load does to its
// files and its log, and notes when clients learn what. Then it cuts the power at random moments of
// the record: what remains must have everything that was acknowledged until
// then, and so on as in TestCrash.
func TestCrashPowerLoss(t *testing.T) {
	tier.Need(t, tier.Full)
	t.Parallel()
	load := tracedLoad
	for !crashPowerLoss(t, load) && load < mostTracedLoad {
		load *= 2
	}
	if load == mostTracedLoad {
		t.Error("something never took place")
	}
}

// crashPowerLoss cuts the power for TestCrashPowerLoss. It reports whether there were
// enough power failures and writes of each kind.
func crashPowerLoss(t *testing.T, load time.Duration) (enough bool) {
	t.Helper()
	c := newCrashTest(t, crashSockets, "one")
	db, then := c.dbs[0], &hindsight{}
	db.look(then)
	events := c.traced(load)
	rnd := rand.New(rand.NewPCG(c.seed, 1))
	disk, cuts := disktest.NewFolder(c.data), 0
	for i, e := range events {
		then.until(e.Time)
		disk.Run(e)
		if db.chain.least == 0 {
			continue // until the file is complete it is no database
		}
		for ; cuts < kills()*(i+1)/len(events); cuts++ {
			left := t.TempDir()
			if err := disk.Crash(rnd, left); err != nil {
				t.Fatal(err)
			}
			if err := lookAtCrashed(db, left, cuts%2 == 0); err != nil {
				t.Fatalf("power failure %d: %v; the seed is %d", cuts, err, c.seed)
			}
			if err := os.RemoveAll(left); err != nil {
				t.Fatal(err)
			}
		}
	}
	then.until(time.Now())
	db.begin(tree.Empty)
	t.Logf("%d power failures in %d events: %+v", cuts, len(events), db.figures)
	return cuts >= kills() && db.figures.Acked > 0 && db.figures.Disconnects > 0 && db.figures.Conditional > 0
}

// traced runs a server under load, for a while, and returns what it did to its
// files.
func (c *crashTest) traced(d time.Duration) (events []disktest.Event) {
	c.t.Helper()
	log := filepath.Join(c.t.TempDir(), "trace")
	cmd, err := disktest.TraceFolder(log, "dogwood", c.args...)
	if err != nil {
		c.t.Skip(err)
	}
	s, err := startServerProcess(cmd)
	if err != nil {
		c.t.Skipf("strace cannot be started: %v", err)
	}
	c.t.Cleanup(s.kill)
	if err := s.listening(); err != nil {
		c.t.Skipf("strace cannot trace here: %v", err)
	}
	pid, err := childOf(cmd.Process.Pid)
	if err != nil {
		c.t.Fatal(err)
	}
	killing := time.AfterFunc(d, func() {
		c.killed.Store(true)
		_ = pid.Kill() // the server; strace then ends by itself
	})
	defer killing.Stop()
	c.work(s.url)
	s.ended()
	if events, err = disktest.ReadTrace(log); err != nil {
		c.t.Fatal(err)
	}
	return slices.DeleteFunc(events, func(e disktest.Event) bool { return !strings.HasPrefix(e.File, c.data) })
}

// childOf returns the process that another one has started.
func childOf(pid int) (*os.Process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		return nil, err
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, err
	}
	return os.FindProcess(child)
}

// lookAtCrashed opens the database in a directory as a server does that goes on with its log,
// or as a command does that only reads the log, twice, and compares its data with the acknowledged
// writes.
func lookAtCrashed(db *crashDB, dir string, logged bool) error {
	var first tree.Node
	file := filepath.Join(dir, "one.db")
	for again := range 2 {
		root, err := recovered(file, logged)
		if err == nil {
			err = db.compare(root)
		}
		if err != nil {
			return err
		}
		if again == 1 && root != first {
			return errors.New("the second start finds something else than the first")
		}
		first = root
	}
	findings, err := store.CheckFile(file)
	return errors.Join(append(findings, err)...)
}

// recovered returns what is in a database when it is open.
func recovered(file string, withLog bool) (root tree.Node, err error) {
	open, err := rules.Parse(crashRules)
	if err != nil {
		return tree.Empty, err
	}
	o := store.Options{NoSync: true}
	if withLog {
		if o.Log, err = logged.OpenLog(store.LogDir(filepath.Dir(file)), logged.LogOptions{}); err != nil {
			return tree.Empty, err
		}
		defer func() { err = errors.Join(err, o.Log.Close()) }()
	}
	db, err := dsync.Open(dsync.Options{File: file, Rules: open, Store: o})
	if err != nil {
		return tree.Empty, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Get(context.Background(), dsync.Read{Caller: dsync.Admin})
}
