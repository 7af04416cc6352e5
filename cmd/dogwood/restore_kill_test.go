//go:build linux

package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// A restoreTest is a data directory with an old database, and a backup with a new
// one.
type restoreTest struct {
	t    *testing.T
	dir  string
	data string
}

const (
	oldWorld = `{"world":"old"}`
	newWorld = `{"world":"new"}`
)

func newRestoreTest(t *testing.T) *restoreTest {
	dir := t.TempDir()
	r := &restoreTest{t: t, dir: dir, data: filepath.Join(dir, "data")}
	for name, world := range map[string]string{"old": oldWorld, "new": newWorld} {
		r.must("import", "/", writeTemp(t, name+".json", world), "--force", "--data", dir, "--namespace", name)
	}
	return r
}

func (r *restoreTest) must(args ...string) {
	r.t.Helper()
	if out, err := exec.Command("dogwood", args...).CombinedOutput(); err != nil {
		r.t.Fatalf("dogwood %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// reset makes the data directory as it was, with the old database or with none.
func (r *restoreTest) reset(old bool) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "old.db"))
	err = errors.Join(err, os.RemoveAll(r.data), os.Mkdir(r.data, 0o700))
	if old {
		err = errors.Join(err, os.WriteFile(filepath.Join(r.data, "shop.db"), text, 0o600))
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// restore returns the command that replaces the old database with the new one.
func (r *restoreTest) restore(before ...string) *exec.Cmd {
	args := append(before, "dogwood", "restore", filepath.Join(r.dir, "new.db"), "--data", r.data, "--namespace", "shop", "--force")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // strace counts for each thread
	return cmd
}

func (r *restoreTest) serve() *serverProcess {
	return startProcess(r.t, "serve", "--port", "0", "--data", r.data, "--namespace", "shop", "--ops-addr", "off")
}

// world returns all that a server has.
func (r *restoreTest) world(s *serverProcess) string {
	r.t.Helper()
	_, text := r.ask(s, http.MethodGet, "/.json")
	return text
}

// ask sends a request as an administrator; a write is of 1.
func (r *restoreTest) ask(s *serverProcess, method, path string) (status int, text string) {
	r.t.Helper()
	status, text, err := request(r.t.Context(), method, s.url+path, secretOf(r.t, r.data), "1")
	if err != nil {
		r.t.Fatal(err)
	}
	return status, strings.TrimSpace(text)
}

// restoreCalls are the system calls of a restore at which it is killed, and how
// often at most.
var restoreCalls = map[string]int{
	"linkat": 3, "renameat": 3, "fsync": 9, "unlinkat": 3, "flock": 9, "write": 9, "ftruncate": 3, "close": 20, "openat": 20,
}

// wantedRestoreCalls are those that change which database there is. A restore may do
// without the others, such as unlinkat, and then ends well.
var wantedRestoreCalls = []string{"linkat", "renameat", "fsync"}

// killed runs a restore that is killed at the n-th call of a kind, and reports
// whether it was.
func (r *restoreTest) killed(strace, call string, n int) bool {
	r.t.Helper()
	cmd := r.restore(strace, "-f", "-qq", "-o", os.DevNull, "-e", "trace="+call, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || strings.Contains(string(out), "ptrace") {
		r.t.Skipf("strace cannot trace here: %v\n%s", err, out)
	}
	return true
}

// TestRestoreKilled kills a restore at its system calls, one after the other, and
// starts a server each time: it has the old data or the new, whole.
func TestRestoreKilled(t *testing.T) {
	t.Parallel()
	r := newRestoreTest(t)
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip(err)
	}
	seen := make(map[string]int)
	for call, most := range restoreCalls {
		if tier.Current() == tier.Quick && call != "unlinkat" && !slices.Contains(wantedRestoreCalls, call) {
			continue
		}
		step := tier.Pick(1, 9, 1)
		if slices.Contains(wantedRestoreCalls, call) {
			step = min(step, 5)
		}
		for n := 1; n <= min(most, tier.Pick(1, 20, 20)); n += step {
			r.reset(true)
			killed := r.killed(strace, call, n)
			s := r.serve()
			if err := s.listening(); err != nil {
				t.Fatalf("killed at %s %d: %v", call, n, err)
			}
			world := r.world(s)
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			if world != newWorld && (world != oldWorld || !killed) {
				t.Fatalf("killed at %s %d (%v): the server has %s", call, n, killed, world)
			}
			if seen[world]++; !killed {
				break
			}
			seen[call]++
		}
	}
	t.Logf("%v", seen)
	for _, what := range append([]string{oldWorld, newWorld}, wantedRestoreCalls...) {
		if seen[what] == 0 {
			t.Errorf("%s never took place", what)
		}
	}
}

// TestFirstRestoreKilled is the same where there was no database: a server does not
// begin with an empty one while there are files of the restore.
func TestFirstRestoreKilled(t *testing.T) {
	t.Parallel()
	r := newRestoreTest(t)
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip(err)
	}
	for _, call := range []string{"fsync", "renameat"} {
		r.reset(false)
		if !r.killed(strace, call, 1) {
			t.Fatalf("not killed at %s", call)
		}
		if _, err := os.Stat(filepath.Join(r.data, "shop.db.part")); err != nil {
			continue // nothing is left: it was the sync of the new directory
		}
		if err := r.serve().listening(); err == nil || !strings.Contains(err.Error(), "the remains of a restore are there: shop.db.part; run dogwood restore again") {
			t.Errorf("killed at %s: %v", call, err)
		}
		if _, err := os.Stat(filepath.Join(r.data, "shop.db")); err == nil {
			t.Error("a new database was made")
		}
		if out, err := r.restore().CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		r.wants(newWorld)
	}
}

// TestRemainsOfAnOlderRestore: earlier versions renamed the old database away first.
func TestRemainsOfAnOlderRestore(t *testing.T) {
	r := newRestoreTest(t)
	r.reset(true)
	file := filepath.Join(r.data, "shop.db")
	kept := file + ".replaced-20260101T000000Z"
	if err := os.Rename(file, kept); err != nil {
		t.Fatal(err)
	}
	if err := r.serve().listening(); err == nil || !strings.Contains(err.Error(), "shop.db.replaced-20260101T000000Z") {
		t.Errorf("a server starts beside remains: %v", err)
	}
	if err := os.Rename(kept, file); err != nil {
		t.Fatal(err)
	}
	r.wants(oldWorld)
}

// wants starts a server and wants it to have the data.
func (r *restoreTest) wants(world string) {
	r.t.Helper()
	s := r.serve()
	if err := s.listening(); err != nil {
		r.t.Fatal(err)
	}
	if got := r.world(s); got != world {
		r.t.Errorf("the server has %s; want %s", got, world)
	}
	if err := s.stop(); err != nil {
		r.t.Error(err)
	}
}

// TestRestoreWhileServersStart: one of the two has the directory, and the other one
// says so.
func TestRestoreWhileServersStart(t *testing.T) {
	t.Parallel()
	r := newRestoreTest(t)
	for range tier.Pick(1, 2, 6) {
		r.reset(true)
		var both sync.WaitGroup
		var out []byte
		var failed error
		both.Go(func() { out, failed = r.restore().CombinedOutput() })
		s := r.serve()
		started := s.listening()
		both.Wait()
		if failed != nil && !strings.Contains(string(out), "a server is running on it; stop the server first") {
			t.Errorf("restore: %v\n%s", failed, out)
		}
		if started == nil {
			if world := r.world(s); world != newWorld && (world != oldWorld || failed == nil) {
				t.Errorf("the server has %s; restore: %v", world, failed)
			}
			if err := s.stop(); err != nil {
				t.Error(err)
			}
		} else if !strings.Contains(started.Error(), "is in use by dogwood restore, process ") {
			t.Error(started)
		}
		if failed == nil {
			r.wants(newWorld)
		} else {
			r.wants(oldWorld)
		}
	}
}

// TestFileTakenAway: a server does not acknowledge what it would store in a file
// without a name, and goes on when the file is back.
func TestFileTakenAway(t *testing.T) {
	r := newRestoreTest(t)
	r.reset(true)
	s := r.serve()
	if err := s.listening(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(r.data, "shop.db")
	writes := 0
	want := func(status int, method, path string) {
		t.Helper()
		writes++
		got, text, err := request(t.Context(), method, s.url+path, secretOf(t, r.data), strconv.Itoa(writes))
		if err != nil || got != status {
			t.Errorf("%s %s: %d %s, %v; want %d", method, path, got, text, err, status)
		}
	}
	want(200, "PUT", "/a.json")
	for range 2 {
		if err := os.Rename(file, file+".away"); err != nil {
			t.Fatal(err)
		}
		want(503, "GET", "/readyz")
		want(503, "PUT", "/a.json")
		want(200, "GET", "/a.json")
		if err := os.WriteFile(file, nil, 0o600); err != nil { // another file
			t.Fatal(err)
		}
		want(503, "PUT", "/a.json")
		want(503, "GET", "/readyz")
		if err := os.Rename(file+".away", file); err != nil {
			t.Fatal(err)
		}
		want(200, "PUT", "/a.json")
		want(200, "GET", "/readyz")
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if text := s.stderr.String(); !strings.Contains(text, "the data file was removed or replaced while it was in use") {
		t.Errorf("log:\n%s", text)
	}
}
