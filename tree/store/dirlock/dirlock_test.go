package dirlock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func lock(t *testing.T, l *Lock, err error) *Lock {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// held wants an error that says which process has the directory.
func held(t *testing.T, err error, pid int, use string) {
	t.Helper()
	e := (*HeldError)(nil)
	if !errors.As(err, &e) || e.PID != pid || e.Use != use {
		t.Errorf("%v; want a holder %d, %q", err, pid, use)
	}
}

func TestLocks(t *testing.T) {
	dir := t.TempDir()
	one, err := Sole(dir, "a server")
	lock(t, one, err)
	_, err = Sole(dir, "another")
	held(t, err, os.Getpid(), "a server")
	_, err = Shared(dir)
	held(t, err, os.Getpid(), "a server")
	if err := one.Release(); err != nil {
		t.Fatal(err)
	}
	two, err := Shared(dir)
	lock(t, two, err)
	three, err := Shared(dir)
	lock(t, three, err)
	_, err = Sole(dir, "a server")
	held(t, err, 0, "")
	if err := errors.Join(two.Release(), three.Release()); err != nil {
		t.Fatal(err)
	}
	four, err := Sole(dir, "the last")
	lock(t, four, err)
	if err := four.Release(); err != nil {
		t.Fatal(err)
	}
}

// TestStaleHolder: a process that was killed leaves its name, but not its lock.
func TestStaleHolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, Name), []byte("1 a server\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Shared(dir)
	lock(t, l, err)
	_, err = Sole(dir, "a server")
	held(t, err, 0, "")
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

// TestSoleFile: locks by files of different names are apart.
func TestSoleFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "another.lock")
	one, err := SoleFile(file, "one")
	lock(t, one, err)
	_, err = SoleFile(file, "two")
	held(t, err, os.Getpid(), "one")
	two, err := Sole(dir, "a server")
	lock(t, two, err)
	if err := errors.Join(one.Release(), two.Release()); err != nil {
		t.Fatal(err)
	}
	three, err := SoleFile(file, "three")
	lock(t, three, err)
	if err := three.Release(); err != nil {
		t.Fatal(err)
	}
}

// TestSharedMakesNoFile: one that belongs to the user who reads would keep a server
// from starting.
func TestSharedMakesNoFile(t *testing.T) {
	dir := t.TempDir()
	l, err := Shared(dir)
	lock(t, l, err)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

func TestNoDirectory(t *testing.T) {
	if _, err := Sole(filepath.Join(t.TempDir(), "none"), "a server"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestLockOfAnother: a process that may not write to a directory can have it, to read.
func TestLockOfAnother(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	for _, there := range []bool{false, true} {
		if there {
			if err := os.WriteFile(filepath.Join(dir, Name), nil, 0o400); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		one, err := Sole(dir, "a server")
		lock(t, one, err)
		if _, err = Sole(dir, "another"); there && err == nil {
			t.Error("two have the lock")
		}
		if err := errors.Join(one.Release(), os.Chmod(dir, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
}
