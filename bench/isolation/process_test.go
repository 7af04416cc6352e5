package isolation

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/bench/child"
	"github.com/dogwooddb/dogwood/bench/connect"
)

// roleVariable makes this test binary another program.
const roleVariable = "BENCH_TEST_ROLE"

func TestMain(m *testing.M) {
	role := map[string]func() error{
		"attackers": func() error { return Attack(context.Background(), os.Stdin, os.Stdout) },
		"bench":     orderAndWait,
		"broken":    func() error { return fmt.Errorf("a fault of the attackers") },
	}[os.Getenv(roleVariable)]
	if role == nil {
		os.Exit(m.Run())
	}
	if err := role(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inRole returns a process of this binary in a role.
func inRole(role string) *exec.Cmd {
	self, err := os.Executable()
	return &exec.Cmd{Path: self, Args: []string{"bench.test"}, Err: err, Env: append(os.Environ(), roleVariable+"="+role)}
}

// targetVariable is the address for the role bench.
const targetVariable = "BENCH_TEST_TARGET"

// orderAndWait orders an attack and then does nothing, until it is killed.
func orderAndWait() error {
	if _, err := halfOpen(context.Background(), os.Getenv(targetVariable), "attackers"); err != nil {
		return err
	}
	fmt.Println("attacked")
	select {}
}

// halfOpen orders an attack by connections that stay open.
func halfOpen(ctx context.Context, url, role string) (*child.Process, error) {
	var attackers func() *exec.Cmd
	if role != "" {
		attackers = func() *exec.Cmd { return inRole(role) }
	}
	return startAttackers(ctx, attackers, &attacker{Attack: "half-open-sockets", Target: connect.Target{URL: url}, Most: time.Hour})
}

// A sink is a server that takes connections and notices their end.
type sink struct {
	net.Listener
	conns chan net.Conn
}

func newSink(t *testing.T) *sink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{l, make(chan net.Conn, 1<<16)}
	t.Cleanup(func() { l.Close() })
	go func() {
		defer close(s.conns)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns <- c
		}
	}()
	return s
}

func (s *sink) url() string { return "http://" + s.Addr().String() }

// attacked waits for connections: one that only looks whether there is a server, and more
// than the attack has clients, so that one of them has noticed its first.
func (s *sink) attacked() (conns []net.Conn) {
	for range 10 {
		conns = append(conns, <-s.conns)
	}
	return conns
}

// wantEnd wants each connection to be ended by the other side.
func wantEnd(t *testing.T, conns []net.Conn) {
	t.Helper()
	for _, c := range conns {
		if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		if _, err := io.Copy(io.Discard, c); os.IsTimeout(err) {
			t.Errorf("a connection of the attack goes on: %v", err)
		}
		c.Close()
	}
}

// TestAttackersEnd: attackers in a process of their own, and those in this one, attack until
// they are ended, and count what they did.
func TestAttackersEnd(t *testing.T) {
	for _, role := range []string{"attackers", ""} {
		t.Run("role "+role, func(t *testing.T) {
			s := newSink(t)
			a, err := halfOpen(t.Context(), s.url(), role)
			if err != nil {
				t.Fatal(err)
			}
			conns := s.attacked()
			var count bench.Trial
			err = a.End(&count)
			if err != nil || count.Sent < 1 {
				t.Errorf("%d connections, %v", count.Sent, err)
			}
			wantEnd(t, conns)
		})
	}
}

// TestAttackersEndWithTheBench: attackers do not outlive the process that started them,
// even if that is killed.
func TestAttackersEndWithTheBench(t *testing.T) {
	s := newSink(t)
	bench := inRole("bench")
	bench.Env = append(bench.Env, targetVariable+"="+s.url())
	bench.Stderr = os.Stderr
	out, err := bench.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bench.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "attacked\n" {
		t.Fatalf("it says %q, %v", line, err)
	}
	conns := s.attacked()
	if err := bench.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := bench.Wait(); err == nil {
		t.Error("it was not killed")
	}
	wantEnd(t, conns)
}

// TestAttackersAreBounded: attackers end when their time is over, even if their input stays
// open.
func TestAttackersAreBounded(t *testing.T) {
	s := newSink(t)
	attackers := func() *exec.Cmd { return inRole("attackers") }
	a, err := startAttackers(t.Context(), attackers, &attacker{Attack: "half-open-sockets", Target: connect.Target{URL: s.url()}, Most: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Wait(); err != nil {
		t.Error(err)
	}
}

// TestAttackersSayWhatFailed: an attack that cannot take place is an error, and not a
// bystander without an attack.
func TestAttackersSayWhatFailed(t *testing.T) {
	s := newSink(t)
	gone := newSink(t)
	gone.Close()
	for _, c := range []struct{ name, url, role, want string }{
		{"no server", gone.url(), "attackers", "connect: "},
		{"no server, here", gone.url(), "", "connect: "},
		{"another program", s.url(), "broken", "a fault of the attackers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := halfOpen(t.Context(), c.url, c.role); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	missing := func() *exec.Cmd { return &exec.Cmd{Path: "/nonexistent/program"} }
	if _, err := startAttackers(t.Context(), missing, &attacker{}); err == nil || !strings.HasPrefix(err.Error(), "the process of the attackers: start ") {
		t.Errorf("no program: %v", err)
	}
}
