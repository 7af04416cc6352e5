//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadOnlyDisk: a server starts on a file system that became read-only, serves
// its data, and refuses writes.
func TestReadOnlyDisk(t *testing.T) {
	disk := smallDisk(t, "12m")
	data := filepath.Join(disk, "data")
	if out, err := exec.Command("dogwood", "import", "/", writeTemp(t, "world.json", oldWorld), "--force", "--data", data, "--namespace", "shop").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(data, "admin-secret"), []byte("a-secret-of-the-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(disk, "nothing"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("cannot make a file system read-only here: %v", err)
	}
	r := &restoreTest{t: t, dir: disk, data: data}
	r.wants(oldWorld)
	s := r.serve()
	if err := s.listening(); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(disk, "nothing") // the file system is there, and no server was
	out, err := exec.Command("dogwood", "serve", "--port", "0", "--data", empty).CombinedOutput()
	if text := string(out); err == nil || !strings.Contains(text, "dogwood: --data "+empty+": the file system is read-only, and there is no database to serve") || strings.Contains(text, "room") {
		t.Errorf("an empty directory: %v\n%s", err, text)
	}
	for path, want := range map[string]string{"/readyz": "storage", "/a.json": "The database is read-only."} {
		method := "GET"
		if path == "/a.json" {
			method = "PUT"
		}
		if status, text := r.ask(s, method, path); status != 503 || !strings.Contains(text, want) {
			t.Errorf("%s %s: %d %s", method, path, status, text)
		}
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	s = startServer(t, "--data", data, "--namespace", "shop,new", "--default-namespace", "shop", "--record", filepath.Join(disk, "recording"),
		"--backup-dir", filepath.Join(disk, "backups"), "--rules", writeTemp(t, "rules.json", `{"rules":{".read":true}}`))
	wantAnswer(t, "GET", s.url+"/.json", "", 200, "{")
	if out, err = exec.Command("dogwood", "set", "/a", "1", "--url", s.url, "--secret-file", filepath.Join(data, "admin-secret")).CombinedOutput(); string(out) != "dogwood: The database is read-only.\n" {
		t.Errorf("set: %v\n%s", err, out)
	}
	wantAnswer(t, "GET", s.url+"/.json?ns=new", "", 503, "temporarily unavailable")
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}
