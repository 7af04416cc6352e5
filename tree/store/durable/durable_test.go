package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestCreateAndReplace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := errors.Join(MkdirAll(dir, 0o700), MkdirAll(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "secret")
	if err := Create(file, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Create(file, []byte("two"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("creating it again: %v", err)
	}
	want(t, dir, "secret", "one", 0o600)
	if err := Replace(file, []byte("three"), 0o640); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "secret", "three", 0o600)
	if err := errors.Join(os.Chmod(file, 0o662), Replace(file, []byte("three"), 0o640)); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "secret", "three", 0o640)
	if err := Link(file, file+".kept"); err != nil {
		t.Fatal(err)
	}
	if err := Link(file, file+".kept"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("linking it again: %v", err)
	}
	if err := errors.Join(Remove(file), Rename(file+".kept", file)); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "secret", "three", 0o640)
}

// want wants one file in a directory, and so nothing temporary.
func want(t *testing.T, dir, name, content string, perm fs.FileMode) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Fatalf("the directory has %v, %v", entries, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || string(text) != content {
		t.Errorf("the file has %q, %v; want %q", text, err, content)
	}
	if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != perm {
		t.Errorf("mode %v, %v; want %v", info.Mode(), err, perm)
	}
}

func TestMkdirAllBesideAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if err := MkdirAll(dir, 0o700); err == nil {
			t.Errorf("MkdirAll(%s) succeeds", dir)
		}
	}
}
