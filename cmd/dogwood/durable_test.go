//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNamesAreDurable has strace record which names commands make in a directory,
// and when they sync the directory that has the name: a name that is not synced is
// gone after a power failure, whatever is in the file.
func TestNamesAreDurable(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "var", "lib", "data")
	made := traceNames(t, dir, func(run func(args ...string)) {
		run("import", "/", writeTemp(t, "world.json", `{"a":1}`), "--data", data, "--force")
		run("serviceaccount", "create", "backend", "--out", filepath.Join(dir, "backend.json"), "--data", data)
		run("token", "revoke", "--uid", "ana", "--data", data)
		run("backup", filepath.Join(dir, "copy.db"), "--data", data)
		run("restore", filepath.Join(dir, "copy.db"), "--data", data, "--force")
		run("restore", filepath.Join(dir, "copy.db"), "--data", filepath.Join(dir, "else", "where"))
	})
	for _, name := range []string{
		"var", "var/lib", "var/lib/data", "var/lib/data/default.db", "var/lib/data/service-accounts", "backend.json",
		"var/lib/data/service-accounts/backend.json", "var/lib/data/revoked-users", "copy.db", "else", "else/where", "else/where/default.db",
	} {
		if !slices.Contains(made, filepath.Join(dir, name)) {
			t.Errorf("%s was not made; what was: %q", name, made)
		}
	}
}

// TestNamesOfServersAreDurable is the same for a server that begins.
func TestNamesOfServersAreDurable(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "new", "data")
	taken, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	made := traceNames(t, dir, func(run func(args ...string)) {
		run("serve", "--port", strconv.Itoa(taken.Addr().(*net.TCPAddr).Port), "--data", data) // it makes all files before it fails to listen
	})
	for _, name := range []string{"", "admin-secret", "access-token-key", "default.db"} {
		if want := filepath.Join(data, name); !slices.Contains(made, want) {
			t.Errorf("%s was not made; what was: %q", want, made)
		}
	}
}

func writeTemp(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// traceNames runs commands and returns the names below a directory that they made
// and left. It fails for one whose directory is not synced afterwards.
func traceNames(t *testing.T, below string, work func(run func(args ...string))) (made []string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip(err)
	}
	log := filepath.Join(t.TempDir(), "trace")
	work(func(args ...string) {
		flags := []string{"-f", "-y", "-s", "4096", "-o", log, "-e", "signal=none",
			"-e", "trace=mkdir,mkdirat,openat,link,linkat,rename,renameat,renameat2,fsync,fdatasync", "dogwood"}
		out, err := exec.Command(strace, append(flags, args...)...).CombinedOutput()
		text, readErr := os.ReadFile(log)
		if readErr != nil || len(text) == 0 {
			t.Skipf("strace cannot trace here: %v\n%s", err, out)
		}
		names, lost := namesIn(string(text), below)
		made = append(made, names...)
		if len(names) == 0 {
			t.Errorf("dogwood %s makes nothing: %v\n%s", strings.Join(args, " "), err, out)
		}
		for _, name := range lost {
			t.Errorf("dogwood %s: the directory of %s is not synced", strings.Join(args, " "), name)
		}
	})
	return made
}

var (
	quotedName = pattern(`"((?:[^"\\]|\\.)*)"`)
	syncedName = pattern(`f(?:data)?sync\(\d+<([^>]*)>`)
)

// namesIn returns which names a trace makes below a directory, but for those that
// do not last, and those whose directory is not synced afterwards.
func namesIn(trace, below string) (made, lost []string) {
	pending := make(map[string]bool)
	for line := range strings.Lines(trace) {
		if m := syncedName().FindStringSubmatch(line); m != nil {
			for name := range pending {
				if filepath.Dir(name) == m[1] {
					delete(pending, name)
				}
			}
			continue
		}
		name := nameMade(line)
		if name == "" || !strings.HasPrefix(name, below+"/") {
			continue
		}
		pending[name] = true
		made = append(made, name)
	}
	for name := range pending {
		if _, err := os.Stat(name); err == nil {
			lost = append(lost, name)
		}
	}
	return made, lost
}

// nameMade returns the name that a successful system call makes, "" if none.
func nameMade(line string) string {
	if strings.Contains(line, ") = -1 ") {
		return ""
	}
	all := quotedName().FindAllStringSubmatch(line, -1)
	call, _, _ := strings.Cut(line, "(")
	_, call, _ = strings.Cut(strings.TrimSpace(call), " ")
	switch call = strings.TrimSpace(call); {
	case len(all) == 0, call == "openat" && !strings.Contains(line, "O_CREAT"):
		return ""
	case strings.HasPrefix(call, "link") || strings.HasPrefix(call, "rename"):
		return all[len(all)-1][1]
	}
	return all[0][1]
}

func Example_nameMade() {
	fmt.Println(nameMade(`12 mkdirat(AT_FDCWD</>, "/a/b", 0700) = 0`),
		nameMade(`12 renameat(AT_FDCWD</>, "/a/b", AT_FDCWD</>, "/a/c") = 0`),
		nameMade(`12 openat(AT_FDCWD</>, "/a/d", O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 3</a/d>`),
		nameMade(`12 openat(AT_FDCWD</>, "/a/d", O_RDONLY|O_CLOEXEC) = 3</a/d>`) == "")
	// Output: /a/b /a/c /a/d true
}
