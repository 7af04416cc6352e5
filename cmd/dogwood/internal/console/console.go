// Package console has the streams that a command reads and writes, the terminal of its user,
// and exit codes.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Env is what a command sees of the world, so that tests can run it.
type Env struct {
	Ctx    context.Context
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	Warnings []string // about the command line, for the log of a server
}

// EnvPrefix begins the names of the variables that stand for flags.
const EnvPrefix = "DOGWOOD"

// ErrInterrupted says that a signal ended a command.
var ErrInterrupted = errors.New("interrupted")

// IsTerminal reports whether a stream is a terminal. The null device is a character device,
// too.
func IsTerminal(stream any) bool {
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

// Say prints a message on a terminal. Scripts see only the exit code.
func (e *Env) Say(format string, args ...any) {
	if IsTerminal(e.Stdout) {
		fmt.Fprintf(e.Stdout, format+"\n", args...)
	}
}

// Done says on standard error what a command has done, in scripts too.
func (e *Env) Done(format string, args ...any) { fmt.Fprintf(e.Stderr, format+".\n", args...) }

// Input returns standard input. At a terminal it says first what is waited for: "JSON".
func (e *Env) Input(what string) io.Reader {
	if IsTerminal(e.Stdin) {
		fmt.Fprintf(e.Stderr, "Type %s and end it with Ctrl-D:\n", what)
	}
	return e.Stdin
}

// Confirm asks before something is lost, if there is a person to ask.
func (e *Env) Confirm(question string) error {
	if !IsTerminal(e.Stdin) {
		return nil
	}
	return e.Ask(question)
}

// Ask asks before something is lost. Without a person to ask, --yes is required.
func (e *Env) Ask(question string) error {
	if !IsTerminal(e.Stdin) {
		return fmt.Errorf("%s Nothing was changed, since there is no terminal to ask on; --yes does not ask", question)
	}
	fmt.Fprintf(e.Stderr, "%s Go on? [y/N] ", question)
	answered := make(chan string, 1)
	go func() { answered <- readLine(e.Stdin) }() // a read of a terminal cannot be stopped
	select {
	case answer := <-answered:
		if answer = strings.ToLower(answer); answer == "y" || answer == "yes" {
			return nil
		}
		return errors.New("nothing was changed; --yes does not ask")
	case <-e.Ctx.Done():
		fmt.Fprintln(e.Stderr)
		return ErrInterrupted
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
