package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A serverProcess is this program, running as a server.
type serverProcess struct {
	cmd    *exec.Cmd
	out    io.ReadCloser
	stderr bytes.Buffer
	url    string
	wait   func() error
}

// startProcess starts a server. It is killed when the test ends, if it still runs.
func startProcess(t *testing.T, args ...string) *serverProcess {
	t.Helper()
	s, err := startServerProcess(exec.Command("dogwood", args...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	return s
}

func startServerProcess(cmd *exec.Cmd) (*serverProcess, error) {
	s := &serverProcess{cmd: cmd}
	if cmd.Stderr == nil {
		cmd.Stderr = &s.stderr
	}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	s.out, s.wait = out, sync.OnceValue(s.cmd.Wait)
	return s, err
}

// listening waits until the server says where it listens.
func (s *serverProcess) listening() error {
	if _, err := fmt.Fscanf(s.out, "Listening on %s", &s.url); err != nil {
		s.kill()
		return fmt.Errorf("the server does not start: %w\n%s", err, &s.stderr)
	}
	go io.Copy(io.Discard, s.out) // ends with the process
	return nil
}

// kill ends the server at once.
func (s *serverProcess) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	s.ended()
}

// ended waits for the end.
func (s *serverProcess) ended() { _ = s.wait() } // killed, which is an error

// stop ends the server in order.
func (s *serverProcess) stop() error {
	return errors.Join(s.cmd.Process.Signal(syscall.SIGTERM), s.wait())
}

// startServer runs dogwood serve, which writes to the log of the test, and returns it when
// it listens. It is stopped when the test ends.
func startServer(t *testing.T, args ...string) *serverProcess {
	t.Helper()
	cmd := exec.Command("dogwood", append([]string{"serve", "--port", "0"}, args...)...)
	cmd.Stderr = &testWriter{t}
	s := startListening(t, cmd)
	t.Cleanup(func() { _ = s.stop() }) // it may have ended
	return s
}

// startListening starts a server and waits until it listens. It is killed when the test
// ends, if it still runs.
func startListening(t *testing.T, cmd *exec.Cmd) *serverProcess {
	t.Helper()
	s, err := startServerProcess(cmd)
	if err == nil {
		t.Cleanup(s.kill)
		err = s.listening()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// request sends a request with a credential, "" for none, and returns the answer.
func request(ctx context.Context, method, url, secret, body string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, strings.ReplaceAll(url, `"`, "%22"), strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer), err
}

// secretOf returns the admin secret in a data directory.
func secretOf(t *testing.T, data string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "admin-secret"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// A testWriter writes to the log of a test.
type testWriter struct{ t *testing.T }

func (w *testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", p)
	return len(p), nil
}
