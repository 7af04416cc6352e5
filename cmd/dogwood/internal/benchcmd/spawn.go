package benchcmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
)

// spawning is what a workload needs of a spawned server.
type spawning struct {
	args, env []string
	binary    string // instead of this program
}

// A spawned server is a child process with a data directory of its own.
//
// A new server for each run starts from the same state: no cache is warm and no
// file has grown. Its data are on disk, below a place that can be chosen, since
// a directory in memory would make syncs free.
type spawned struct {
	mode   string
	with   spawning
	cmd    *exec.Cmd
	dir    string // "" if it keeps nothing
	stderr bytes.Buffer
	target bench.Target
}

var _ bench.Server = (*spawned)(nil)

// spawnedNamespace is the database of a spawned server.
const spawnedNamespace = "bench"

// How long a spawned server may take to start, and to end before it is killed.
const (
	spawnTimeout = 30 * time.Second
	endTimeout   = 15 * time.Second
)

// spawn starts this program as a server, with its data on disk below a place.
func spawn(ctx context.Context, mode, place string, with spawning) (*spawned, error) {
	s := &spawned{mode: mode, with: with}
	if mode != spawnBare {
		dir, err := os.MkdirTemp(place, "dogwood-bench-*")
		if err != nil {
			return nil, err
		}
		s.dir = dir
	}
	if _, err := s.Start(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// Start starts the server on its data.
func (s *spawned) Start(ctx context.Context) (bench.Target, error) {
	if s.mode == spawnRedis {
		return s.target, s.startRedis(ctx)
	}
	binary := s.with.binary
	if binary == "" {
		var err error
		if binary, err = os.Executable(); err != nil {
			return bench.Target{}, err
		}
	}
	data := filepath.Join(s.dir, "data")
	args := []string{"dogwood", s.mode, "--port", "0", "--data", data, "--default-namespace", spawnedNamespace}
	switch s.mode {
	case "serve":
		args = append(args, "--namespace", spawnedNamespace)
	case spawnBare:
		args = []string{"dogwood", "bench", "bare-server"}
	}
	args = append(args, s.with.args...)
	env := append(withoutSettings(os.Environ()), s.with.env...)
	s.cmd = &exec.Cmd{Path: binary, Args: args, Env: env, Stderr: &s.stderr, SysProcAttr: ownGroup()}
	if err := s.listen(ctx); err != nil {
		return bench.Target{}, fmt.Errorf("start %s %s: %w", filepath.Base(binary), s.mode, err)
	}
	var err error
	s.target.Namespace, s.target.PID, s.target.Secret = spawnedNamespace, s.cmd.Process.Pid, "owner"
	if s.mode == "serve" {
		s.target.Secret, err = datadir.AdminSecret(data)
	}
	return s.target, err
}

// Stop ends the server and leaves its data.
func (s *spawned) Stop() error { return s.end() }

// withoutSettings drops the variables that stand for flags: a spawned server has
// exactly those that it is given.
func withoutSettings(environ []string) (kept []string) {
	for _, pair := range environ {
		if !strings.HasPrefix(pair, console.EnvPrefix+"_") {
			kept = append(kept, pair)
		}
	}
	return kept
}

// listen starts the process and waits for the line that says where it listens.
func (s *spawned) listen(ctx context.Context) error {
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	first := make(chan string, 1)
	go func() {
		r := bufio.NewReader(out)
		line, _ := r.ReadString('\n') // an end without a line is one without an address
		first <- line
		_, _ = io.Copy(io.Discard, r) // so that it never waits for us
	}()
	select {
	case line := <-first:
		url, ok := strings.CutPrefix(strings.TrimSpace(line), "Listening on ")
		if !ok {
			return fmt.Errorf("its first line is %q, not its address %s", line, s.complaint())
		}
		s.target.URL = url
		return nil
	case <-time.After(spawnTimeout):
		return fmt.Errorf("it did not print its address within %s", spawnTimeout)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// complaint ends the server and returns what it has written to its log.
func (s *spawned) complaint() string {
	_ = s.end() // it has ended, or cannot be used
	return strings.TrimSpace(s.stderr.String())
}

// stop ends the server and removes its data.
func (s *spawned) stop() error { return errors.Join(s.end(), os.RemoveAll(s.dir)) }

// end asks the server to end and waits for it.
func (s *spawned) end() error {
	if s.cmd == nil || s.cmd.Process == nil || s.cmd.ProcessState != nil {
		return nil
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	kill := time.AfterFunc(endTimeout, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the server failed: %w\n%s", err, strings.TrimSpace(s.stderr.String()))
	}
	return nil
}
