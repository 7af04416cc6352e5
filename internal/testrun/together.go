package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// grace is how long a part may take to end after SIGTERM.
const grace = 5 * time.Second

// A part is a command that runs at the same time as others. It has a process group of its own, so that
// everything it has started ends with it.
type part struct {
	name string
	cmd  *exec.Cmd
	held *os.File // what it has printed; nil for the first part, which prints at once
	done bool
}

// An ending is the result of a part.
type ending struct {
	part *part
	err  error
}

// together runs a command once for each name, as its only argument, all at the same time.
// The first part prints as it runs. The output of each other part follows as a whole, since
// mixed lines could not be read. When a part fails or a signal arrives, the other parts are
// ended: a developer should not wait for them before reading about the failure. The exit
// code is that of the part that failed, or 128 and the signal.
func together(w io.Writer, command string, names []string) (code int, err error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	dir, err := os.MkdirTemp("", "together")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)

	var parts []*part
	endings := make(chan ending, len(names))
	for i, name := range names {
		p := &part{name: name, cmd: exec.Command(command, name)}
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		p.cmd.Stdout = w
		if i > 0 {
			// A file, not a pipe: a process that outlives its part must not delay the end.
			if p.held, err = os.Create(filepath.Join(dir, name)); err == nil {
				defer p.held.Close()
				p.cmd.Stdout = p.held
			}
		}
		p.cmd.Stderr = p.cmd.Stdout
		if err == nil {
			err = p.cmd.Start()
		}
		if err != nil {
			endAll(parts, endings)
			return 1, err
		}
		parts = append(parts, p)
		go func() { endings <- ending{p, p.cmd.Wait()} }()
	}
	return watch(w, parts, endings, signals)
}

// watch waits for the parts and prints what they have held back.
func watch(w io.Writer, parts []*part, endings <-chan ending, signals <-chan os.Signal) (code int, err error) {
	printed := 0
	for printed < len(parts) {
		select {
		case s := <-signals:
			endAll(parts, endings)
			return 128 + int(s.(syscall.Signal)), nil
		case e := <-endings:
			e.part.done = true
			if e.err != nil {
				endAll(parts, endings)
				err := e.part.print(w)
				fmt.Fprintf(w, "\n%s has failed: %v\n", e.part.name, e.err)
				return exitCode(e.err), err
			}
		}
		for ; printed < len(parts) && parts[printed].done; printed++ {
			if err := parts[printed].print(w); err != nil {
				endAll(parts, endings)
				return 1, err
			}
		}
	}
	return 0, nil
}

// print prints what a part has held back.
func (p *part) print(w io.Writer) error {
	if p.held == nil {
		return nil
	}
	_, err := p.held.Seek(0, io.SeekStart)
	if err == nil {
		_, err = io.Copy(w, p.held)
	}
	return err
}

// endAll ends the parts that run and waits for them.
func endAll(parts []*part, endings <-chan ending) {
	running := 0
	signal := func(s syscall.Signal) {
		running = 0
		for _, p := range parts {
			if !p.done {
				running++
				_ = syscall.Kill(-p.cmd.Process.Pid, s) // fails if it has just ended
			}
		}
	}
	late := time.After(grace)
	for signal(syscall.SIGTERM); running > 0; running-- {
		select {
		case e := <-endings:
			e.part.done = true
		case <-late:
			signal(syscall.SIGKILL)
			running++ // this round saw no end
		}
	}
}

// exitCode returns the exit code behind the error of a command.
func exitCode(err error) int {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	return 1 // a signal has no code
}
