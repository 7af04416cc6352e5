// Package shell has the command that reads and writes a database line by line.
package shell

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/tree"
)

// Command reads lines and carries them out.
type Command struct {
	Path string `arg:"" optional:"" default:"/" help:"Path to begin at; the root if it is not given."`
	console.Sure
	client.Flags
}

func (Command) Help() string {
	return `Reads lines such as "get rooms/lobby" and carries them out, with a current path that cd
changes, as in a file system. help lists the commands, quit or Ctrl-D ends it. Lines are
kept for the arrow keys while it runs, and Tab completes commands.

In a pipe it ends at the first line that fails, with exit code 1. A line that deletes the
whole database asks at a terminal, and needs --yes elsewhere.

Examples:

  dogwood shell /rooms --profile shop
  echo 'set /rooms/lobby/name "Lobby"' | dogwood shell`
}

func (c *Command) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	at, err := tree.ParsePath(c.Path)
	if err != nil {
		return err
	}
	s := &session{Env: e, flags: c.Flags, db: db, at: at, yes: c.IsSure()}
	if console.IsTerminal(e.Stdin) && console.IsTerminal(e.Stdout) {
		return s.interact()
	}
	return s.follow()
}

// A session is the state between lines.
type session struct {
	*console.Env
	flags client.Flags
	db    *client.Client
	at    tree.Path
	yes   bool
	edit  *editor // nil: the lines are from a pipe
}

// errQuit ends the session.
var errQuit = errors.New("quit")

// maxLine bounds a line of a pipe, as writes are bounded.
const maxLine = 256 << 20

// follow carries out lines until one fails.
func (s *session) follow() error {
	lines := newLines(s.Stdin, maxLine)
	for n := 1; lines.Scan(); n++ {
		err := s.line(lines.Text())
		switch {
		case errors.Is(err, errQuit):
			return nil
		case errors.Is(err, console.ErrInterrupted):
			return err
		case err != nil:
			return fmt.Errorf("line %d: %w", n, err)
		case s.Ctx.Err() != nil:
			return console.ErrInterrupted
		}
	}
	return lines.Err()
}

// interact carries out lines of a person.
func (s *session) interact() error {
	edit, err := newEditor(s.Env)
	if err != nil {
		return err
	}
	s.edit = edit
	fmt.Fprintf(s.Stdout, "%s   help lists the commands, quit or Ctrl-D ends\n", s.db.Server())
	for {
		line, err := edit.read(console.Printable(s.at.String()) + "> ")
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		err = s.line(line)
		switch {
		case errors.Is(err, errQuit):
			return nil
		case errors.Is(err, console.ErrInterrupted):
			return err
		case err != nil:
			fmt.Fprintln(s.Stderr, "error:", err)
		}
	}
}

// line carries out one line.
func (s *session) line(line string) error {
	line = strings.TrimSpace(line)
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	name, rest, _ := strings.Cut(line, " ")
	for _, c := range commands() {
		if name == c.name || name == c.other {
			err := c.run(s, strings.TrimSpace(rest))
			if err != nil {
				if text, ok := strings.CutPrefix(err.Error(), "--data: "); ok { // no flag of this line
					err = errors.New(text)
				}
			}
			return err
		}
	}
	return fmt.Errorf("unknown command %q; help lists them", console.Printable(name))
}
