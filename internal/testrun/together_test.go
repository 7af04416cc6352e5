package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// script writes a shell script, and two named pipes a and b next to it.
func script(t *testing.T, text string) (command, dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command = filepath.Join(dir, "run")
	if err := os.WriteFile(command, []byte("#!/bin/sh\ncd "+dir+"\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return command, dir
}

func TestTogether(t *testing.T) {
	// Each waits for the other; the second one ends first.
	command, _ := script(t, `
		case $1 in
		one) echo one begins; echo >a; cat b; echo one ends ;;
		two) cat a; echo two runs; echo >b ;;
		esac`)
	var out bytes.Buffer
	code, err := together(&out, command, []string{"one", "two"})
	if code != 0 || err != nil {
		t.Errorf("exit code %d, %v", code, err)
	}
	if got, want := strings.Fields(out.String()), "one begins one ends two runs"; strings.Join(got, " ") != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

// endless is a part that has started a process, which ends with it. Pipe a ends when both
// have ended.
const endless = `endless) exec 3>a; sleep 1000 & echo >b; wait ;;`

func TestTogetherFails(t *testing.T) {
	for _, names := range [][]string{{"endless", "bad"}, {"bad", "endless"}} {
		command, dir := script(t, `case $1 in `+endless+`
			bad) cat b; echo bad news; exit 3 ;;
			esac`)
		ended := readAll(filepath.Join(dir, "a"))
		var out bytes.Buffer
		code, err := together(&out, command, names)
		if code != 3 || err != nil {
			t.Errorf("%v: exit code %d, %v, want 3", names, code, err)
		}
		if got, want := out.String(), "bad news\n\nbad has failed: exit status 3\n"; strings.TrimLeft(got, "\n") != want {
			t.Errorf("%v: printed %q, want %q", names, got, want)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestTogetherIsInterrupted(t *testing.T) {
	command, dir := script(t, `case $1 in `+endless+`
		interrupter) cat b; kill -INT $PPID; sleep 1000 ;;
		esac`)
	ended := readAll(filepath.Join(dir, "a"))
	code, err := together(io.Discard, command, []string{"endless", "interrupter"})
	if code != 130 || err != nil {
		t.Errorf("exit code %d, %v, want 130", code, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// readAll reads a pipe until all of its writers have ended.
func readAll(name string) <-chan error {
	result := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(name)
		result <- err
	}()
	return result
}

func TestTogetherCannotStart(t *testing.T) {
	code, err := together(io.Discard, filepath.Join(t.TempDir(), "none"), []string{"one"})
	if code == 0 || err == nil {
		t.Errorf("a command that is not there: exit code %d, %v", code, err)
	}
}
