//go:build linux

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/dogwooddb/dogwood/internal/disktest"
	"github.com/dogwooddb/dogwood/internal/tier"
)

const tracedCommits = 40

// TestMain runs the parts of TestPowerLossTraced and TestFailingSyncs that are traced.
func TestMain(m *testing.M) {
	if file := os.Getenv("DOGWOOD_TRACED_FILE"); file != "" {
		if err := tracedWork(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv("DOGWOOD_TRACED_LOG"); dir != "" {
		if err := tracedLogWork(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv("DOGWOOD_FAILING_LOG"); dir != "" {
		if err := failingLogWork(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if file := os.Getenv("DOGWOOD_FAILING_FILE"); file != "" {
		if err := failingWork(file, os.Getenv("DOGWOOD_FAILING_RESTART") == "true"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// tracedWork writes to a store in a file and tells another file what is
// committed.
func tracedWork(file string) error {
	acks, err := os.Create(file + ".acks")
	if err != nil {
		return err
	}
	s, err := Open(file, Options{})
	if err != nil {
		return err
	}
	acked := func(n int) error {
		_, err := acks.WriteAt([]byte(strconv.Itoa(n)), 0)
		return err
	}
	if err := acked(0); err != nil {
		return err
	}
	return errors.Join(crashWork(s, tracedCommits, acked), s.Close(), acks.Close())
}

// TestPowerLossTraced has strace record what a process does to its file and
// when it syncs it.
func TestPowerLossTraced(t *testing.T) {
	tier.Unraced(t)
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
	cmd.Env = append(os.Environ(), "DOGWOOD_TRACED_FILE="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace here: %v\n%s", err, out)
	}
	traced, err := disktest.ReadTrace(log)
	if err != nil {
		t.Fatal(err)
	}
	var events []powerEvent
	for _, e := range traced {
		switch e.File {
		case file:
			events = append(events, fileEvent(e))
		case file + ".acks":
			if e.Do != disktest.Write {
				continue
			}
			n, err := strconv.Atoi(string(e.Data))
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, ackEvent(n))
		}
	}
	cutPower(t, events, tracedCommits, powerCuts())
}
