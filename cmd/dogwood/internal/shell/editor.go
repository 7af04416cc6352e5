package shell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// An editor reads lines of a person at a terminal. The terminal is in its usual mode while a
// line is carried out, so that Ctrl-C is a signal then.
type editor struct {
	env      *console.Env
	fd       int
	terminal *term.Terminal
}

type result struct {
	line string
	err  error
}

// newEditor returns an editor for the terminal of a command.
func newEditor(e *console.Env) (*editor, error) {
	in, ok := e.Stdin.(*os.File)
	if !ok {
		return nil, errors.New("standard input is no terminal")
	}
	rw := struct {
		io.Reader
		io.Writer
	}{in, console.Canvas(e.Stdout)}
	t := &editor{env: e, fd: int(in.Fd()), terminal: term.NewTerminal(rw, "")}
	t.terminal.AutoCompleteCallback = complete
	return t, nil
}

// complete completes the command of a line.
func complete(line string, pos int, key rune) (string, int, bool) {
	if key != '\t' {
		return "", 0, false
	}
	begin := line[:pos]
	if found := names(begin); len(found) == 1 && !strings.Contains(begin, " ") {
		begin = found[0] + " "
		return begin + strings.TrimLeft(line[pos:], " "), len(begin), true
	}
	return line, pos, true // no tab in a line
}

// read reads a line. It returns io.EOF for Ctrl-D and Ctrl-C.
func (t *editor) read(prompt string) (string, error) {
	restore, err := t.raw(prompt)
	if err != nil {
		return "", err
	}
	defer restore()
	select {
	case r := <-t.next():
		return r.line, r.err
	case <-t.env.Ctx.Done():
		return "", console.ErrInterrupted
	}
}

// await waits until Enter, Ctrl-C or Ctrl-D is pressed. If what runs meanwhile ends before, it
// shows why.
func (t *editor) await(ended <-chan error) error {
	restore, err := t.raw("")
	if err != nil {
		return err
	}
	defer restore()
	line := t.next()
	for {
		select {
		case <-line:
			return nil
		case err := <-ended:
			if err != nil {
				fmt.Fprintf(t.output(), "error: %v (press Enter)\n", err)
			}
			ended = nil
		case <-t.env.Ctx.Done():
			return console.ErrInterrupted
		}
	}
}

// raw puts the terminal into the mode in which lines are edited.
func (t *editor) raw(prompt string) (restore func(), err error) {
	state, err := term.MakeRaw(t.fd)
	if err != nil {
		return nil, err
	}
	if width, height, err := term.GetSize(t.fd); err == nil && width > 0 {
		_ = t.terminal.SetSize(width, height) // it draws, which shows if it fails
	}
	t.terminal.SetPrompt(prompt)
	return func() { _ = term.Restore(t.fd, state) }, nil // there is nothing to do about it
}

// next reads a line. A read of a terminal cannot be stopped: it is waited for, unless the
// command ends.
func (t *editor) next() <-chan result {
	lines := make(chan result, 1)
	go func() {
		line, err := t.terminal.ReadLine()
		lines <- result{line, err}
	}()
	return lines
}

// output returns a writer for while a line is read. Foreign text cannot control the terminal.
func (t *editor) output() io.Writer { return shownWriter{t.terminal} }

type shownWriter struct{ w io.Writer }

func (s shownWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.w, console.Shown(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
