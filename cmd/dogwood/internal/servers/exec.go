package servers

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/server"
)

// This file runs the command of dev --exec while the server runs.

// endGrace is how long that command may take to end after a signal.
const endGrace = 10 * time.Second

// runExec serves while the command runs, and fails with its exit code.
//
// A signal is for the command. The server serves until that has ended, so that it can clean
// up, and so that what it writes meanwhile is exported.
func (c *Dev) runExec(e *console.Env, o server.Options) error {
	ctx, stop := context.WithCancel(context.WithoutCancel(e.Ctx))
	defer stop()
	serving := *e
	serving.Ctx = ctx
	result := make(chan error, 1)
	var base string
	c.beside = func(served context.Context, _ *server.Server) {
		defer stop()
		result <- execute(e, served, c.Exec, base)
	}
	err := c.run(&serving, o, func(url string) error {
		base = reachable(url)
		fmt.Fprintln(e.Stderr, "Listening on", url)
		return e.Ctx.Err()
	})
	select {
	case code := <-result:
		return errors.Join(err, code)
	default: // it did not start, or has not ended
		return err
	}
}

// execute runs a command line, for which the server at base is the emulator, until served
// ends.
func execute(e *console.Env, served context.Context, line, base string) error {
	cmd, ownGroup := shell(line), !console.IsTerminal(e.Stdin)
	if ownGroup {
		leadGroup(cmd)
	}
	host := base
	if u, err := url.Parse(base); err == nil {
		host = u.Host
	}
	cmd.Env = append(os.Environ(), "FIREBASE_DATABASE_EMULATOR_HOST="+host, "DOGWOOD_URL="+base)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.Stdin, console.Canvas(e.Stdout), console.Canvas(e.Stderr)
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("--exec: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return exitOf(err)
	case <-served.Done():
		endGroup(cmd, ownGroup, os.Kill)
		<-ended
		return errors.New("--exec: the server ended before the command")
	case <-e.Ctx.Done():
	}
	// A terminal has sent its Ctrl-C to the command, too, if that is in the same group.
	if interrupt := context.Cause(e.Ctx).Error() == "SIGINT"; ownGroup && interrupt {
		endGroup(cmd, ownGroup, os.Interrupt)
	} else if !interrupt {
		endGroup(cmd, ownGroup, syscall.SIGTERM)
	}
	select {
	case err := <-ended:
		return exitOf(err)
	case <-time.After(endGrace):
		endGroup(cmd, ownGroup, os.Kill)
		return exitOf(<-ended)
	}
}

// shell returns the command that runs a command line.
func shell(line string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		return exec.Command("cmd", "/c", line)
	}
	return exec.Command("sh", "-c", line)
}

// exitOf has this program end as the command did.
func exitOf(err error) error {
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) {
		if errors.Is(err, exec.ErrWaitDelay) { // it has ended; a child of it has not
			return nil
		}
		return err
	}
	if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return console.Exit(128 + int(s.Signal()))
	}
	return console.Exit(exit.ExitCode())
}
