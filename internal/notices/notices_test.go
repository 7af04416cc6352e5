package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCurrent: the file names every module that the program has, with its licence.
func TestCurrent(t *testing.T) {
	root := filepath.Join("..", "..")
	want, err := Text(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, File))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what \"go run ./internal/notices\" writes", File)
	}
	for _, part := range []string{"go.etcd.io/bbolt v", standard, "Copyright 2009 The Go Authors", "MIT"} {
		if !strings.Contains(string(got), part) {
			t.Errorf("%s lacks %q", File, part)
		}
	}
}
