package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// env is what a command sees of the world, so that tests can run it.
type env struct {
	ctx    context.Context
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

var errInterrupted = errors.New("interrupted")

// isTerminal reports whether a stream is connected to a person. The null device
// is a character device too, but nobody is there.
func isTerminal(stream any) bool {
	if _, ok := stream.(*screen); ok {
		return true
	}
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// say tells a person what was done. Scripts see only the exit code.
func (e *env) say(format string, args ...any) {
	if isTerminal(e.stdout) {
		fmt.Fprintf(e.stdout, format+"\n", args...)
	}
}

// confirm asks before something is lost, if there is a person to ask.
func (e *env) confirm(question string) error {
	if !isTerminal(e.stdin) {
		return nil
	}
	fmt.Fprintf(e.stderr, "%s Go on? [y/N] ", question)
	answered := make(chan string, 1)
	go func() { answered <- readLine(e.stdin) }() // a read of a terminal cannot be stopped
	select {
	case answer := <-answered:
		if answer = strings.ToLower(answer); answer == "y" || answer == "yes" {
			return nil
		}
		return errors.New("nothing was changed; --force does not ask")
	case <-e.ctx.Done():
		fmt.Fprintln(e.stderr)
		return errInterrupted
	}
}

// readLine reads one line and nothing behind it, which may be data.
func readLine(r io.Reader) string {
	var line []byte
	var b [1]byte
	for {
		n, err := r.Read(b[:])
		if n == 1 && b[0] != '\n' {
			line = append(line, b[0])
			continue
		}
		if n == 1 || err != nil {
			return strings.TrimSpace(string(line))
		}
	}
}
