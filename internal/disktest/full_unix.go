//go:build linux || darwin

package disktest

import (
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// Fill has all writes of this process to files fail for want of room, until the
// function that it returns is called or the test ends: no file may grow beyond no bytes
// at all. It needs no permission. Other tests, and the file in which go test notes what
// they read, would have no room either: the test is run in a process of its own, and ends
// here as that one did.
func Fill(t testing.TB) (empty func()) {
	t.Helper()
	if os.Getenv(ownProcess) == "" {
		runAlone(t)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Skipf("the size of files cannot be limited here: %v", err)
	}
	signal.Ignore(syscall.SIGXFSZ) // the writes fail, too
	full := before
	full.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		t.Skipf("the size of files cannot be limited here: %v", err)
	}
	empty = func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(empty)
	return empty
}

// ownProcess is set in the environment of a test that has a process of its own.
const ownProcess = "DOGWOOD_TEST_ALONE"

// runAlone runs the test again in a process of its own. It does not return.
func runAlone(t testing.TB) {
	t.Helper()
	names := strings.Split(t.Name(), "/")
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", strings.Join(names, "/"), "-test.v")
	cmd.Env = append(os.Environ(), ownProcess+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("in a process of its own: %v\n%s", err, out)
	}
	t.SkipNow() // the rest of it: that has passed
}
