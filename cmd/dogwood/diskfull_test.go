//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dogwooddb/dogwood/internal/disktest"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/dirlock"
)

// smallDisk mounts a file system of the given size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a small file system here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fill leaves no room on a disk, until the file is removed that it returns.
func fill(t *testing.T, dir string) (balloon string) {
	t.Helper()
	f, err := os.CreateTemp(dir, "balloon")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for chunk := make([]byte, 64<<10); len(chunk) > 0; {
		if _, err := f.Write(chunk); errors.Is(err, syscall.ENOSPC) {
			chunk = chunk[:len(chunk)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return f.Name()
}

// TestDiskFull: writes, imports and exports fail with an error to the client,
// reads go on, and when there is room again, so do writes.
func TestDiskFull(t *testing.T) {
	disk := smallDisk(t, "12m")
	data := filepath.Join(disk, "data")
	s := startServer(t, "--min-free", "0", "--data", data)
	secret := secretOf(t, data)
	ask := func(method, path, body string) (status int, answer string) {
		t.Helper()
		status, answer, err := request(t.Context(), method, s.url+path, secret, body)
		if err != nil {
			t.Fatal(err)
		}
		return status, answer
	}
	want := func(method, path, body string, status int, answer string) {
		t.Helper()
		if got, text := ask(method, path, body); got != status || !strings.Contains(text, answer) {
			t.Errorf("%s %s: %d %.200s, want %d %s", method, path, got, text, status, answer)
		}
	}
	tooLarge := rowsText(50_000, "row")
	want("PUT", "/n.json", "1", 200, "1")
	want("PUT", "/list.json?print=silent", rowsText(6000, "row"), 204, "")
	for range 3 {
		balloon := fill(t, disk)
		refused := false
		for i := 0; i < 20 && !refused; i++ { // the log keeps some room for itself
			status, text := ask("PUT", fmt.Sprintf("/big/%d.json?print=silent", i), `"`+strings.Repeat("x", 900_000)+`"`)
			if refused = status == 503; !refused && status != 204 || refused && !strings.Contains(text, "There is no room on the server's disk.") {
				t.Fatalf("%d %s", status, text)
			}
		}
		if !refused {
			t.Fatal("a full disk takes everything")
		}
		want("GET", "/readyz", "", 503, "storage")
		want("GET", "/n.json", "", 200, "1")
		want("GET", "/list/k000007/i.json", "", 200, "7")
		want("GET", "/list.json?format=export", "", 507, "no room on the server's disk")
		want("GET", "/.settings/backup", "", 507, "no room on the server's disk")
		if err := os.Remove(balloon); err != nil {
			t.Fatal(err)
		}
		want("PUT", "/n.json", "1", 200, "1")
		want("POST", "/pushed.json", "1", 200, "name")
		want("GET", "/readyz", "", 200, "ok")
		want("DELETE", "/big.json", "", 200, "null")
	}
	want("PUT", "/list2.json?writeSizeLimit=unlimited", tooLarge, 507, "no room on the server's disk")
	want("GET", "/list2.json?shallow=true", "", 200, "null")
	// The server frees the rows of the import in the background.
	large := `"` + strings.Repeat("y", 100_000) + `"`
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		status, text := ask("PUT", "/big.json?print=silent", large)
		if status == 204 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("there is still no room: %d %s", status, text)
		}
	}
	want("GET", "/big.json", "", 200, large)
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	findings, err := store.CheckFile(filepath.Join(data, "default.db"))
	if err := errors.Join(append(findings, err)...); err != nil {
		t.Error(err)
	}
}

// TestDiskFullOfRows: what was acknowledged finds room in the file though the disk was filled by
// commits that are in the log alone, so rows can be deleted, and writes go on.
func TestDiskFullOfRows(t *testing.T) {
	data := filepath.Join(smallDisk(t, "24m"), "data")
	s := startServer(t, "--min-free", "0", "--data", data)
	secret := secretOf(t, data)
	ask := func(method, path, body string) (int, string) {
		t.Helper()
		status, answer, err := request(t.Context(), method, s.url+path, secret, body)
		if err != nil {
			t.Fatal(err)
		}
		return status, answer
	}
	rows := "{"
	for i := range 1000 {
		rows += fmt.Sprintf(`"a%d":"%0900d",`, i, i)
	}
	rows = strings.TrimSuffix(rows, ",") + "}"
	written := 0
	for ; ; written++ {
		if written == 100 {
			t.Fatal("a full disk takes everything")
		}
		status, answer := ask("PUT", fmt.Sprintf("/k%d.json?print=silent", written), rows)
		if status == 503 && strings.Contains(answer, "There is no room on the server's disk.") {
			break
		} else if status != 204 {
			t.Fatal(status, answer)
		}
	}
	if written < 4 {
		t.Fatalf("only %d writes found room", written)
	}
	for i := range written {
		if status, answer := ask("GET", fmt.Sprintf("/k%d/a999.json", i), ""); status != 200 || len(answer) != 902 {
			t.Errorf("row %d: %d %s", i, status, answer)
		}
		if status, answer := ask("DELETE", fmt.Sprintf("/k%d.json", i), ""); status != 200 {
			t.Errorf("delete %d: %d %s", i, status, answer)
		}
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) { // rows are freed in the background
		status, answer := ask("PUT", "/again.json?print=silent", rows)
		if status == 204 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("there is still no room: %d %s", status, answer)
		}
	}
	s.kill()
	s = startServer(t, "--min-free", "0", "--data", data)
	if status, answer := ask("GET", "/again/a7.json", ""); status != 200 || len(answer) != 902 {
		t.Error(status, answer)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

// A fullStart is a disk that is full when a server starts.
type fullStart struct {
	dir  string              // on the disk
	full func()              // leaves no room
	no   bool                // not even for a page: else the start gives up unused room of the log
	room func(cmd *exec.Cmd) // makes room, for the server, too
}

// fullStarts are a small file system, and a limit on the size of files, which needs no
// permission.
var fullStarts = map[string]func(t *testing.T) fullStart{
	"disk": func(t *testing.T) fullStart {
		dir, balloon := smallDisk(t, "12m"), ""
		return fullStart{dir, func() { balloon = fill(t, dir) }, false, func(*exec.Cmd) {
			if err := os.Remove(balloon); err != nil {
				t.Fatal(err)
			}
		}}
	},
	"limit": func(t *testing.T) fullStart {
		empty := func() {}
		return fullStart{t.TempDir(), func() { empty = disktest.Fill(t) }, true, func(cmd *exec.Cmd) {
			empty()
			var own unix.Rlimit
			err := unix.Getrlimit(unix.RLIMIT_FSIZE, &own)
			if err = errors.Join(err, unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_FSIZE, &own, nil)); err != nil {
				t.Fatal(err)
			}
		}}
	},
}

// TestDiskFullAtStart: a server starts on a full disk, whatever it would write: a secret,
// a key, an index, a new database, the directory of backups. It serves reads, and the rest
// when there is room.
func TestDiskFullAtStart(t *testing.T) {
	for name, disk := range fullStarts {
		t.Run(name, func(t *testing.T) {
			d := disk(t)
			data := filepath.Join(d.dir, "data")
			rules := writeTemp(t, "rules.json", `{"rules":{".read":true,".write":true}}`)
			s := startServer(t, "--min-free", "0", "--data", data, "--rules", rules)
			wantAnswer(t, "PUT", s.url+"/list.json", rowsText(100, "row"), 200, "row")
			if err := s.stop(); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"admin-secret", "access-token-key", dirlock.Name} {
				if err := os.Remove(filepath.Join(data, name)); err != nil {
					t.Fatal(err)
				}
			}
			rules = writeTemp(t, "rules.json", `{"rules":{".read":true,".write":true,"list":{".indexOn":"i"}}}`)

			d.full()
			s = startServer(t, "--min-free", "0", "--data", data, "--rules", rules, "--namespace", "default,new", "--default-namespace", "default",
				"--backup-dir", filepath.Join(d.dir, "backups"))
			wantAnswer(t, "GET", s.url+"/list/k000007/i.json", "", 200, "7")
			wantAnswer(t, "GET", s.url+`/list.json?orderBy="i"&equalTo=7`, "", 200, "k000007")
			if d.no {
				wantAnswer(t, "PUT", s.url+"/n.json", "1", 503, "temporarily unavailable")
				wantAnswer(t, "GET", s.url+"/n.json?ns=new", "", 503, "temporarily unavailable")
				wantAnswer(t, "GET", s.url+"/readyz", "", 503, "storage")
			}

			d.room(s.cmd)
			wantAnswer(t, "PUT", s.url+"/n.json", "1", 200, "1")
			wantAnswer(t, "PUT", s.url+"/n.json?ns=new", "2", 200, "2")
			wantAnswer(t, "GET", s.url+"/readyz", "", 200, "ok")
			if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			awaitFile(t, filepath.Join(data, "admin-secret"))
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			for _, name := range []string{"default.db", "new.db"} {
				findings, err := store.CheckFile(filepath.Join(data, name))
				if err := errors.Join(append(findings, err)...); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func wantAnswer(t *testing.T, method, url, body string, status int, answer string) {
	t.Helper()
	got, text, err := request(t.Context(), method, url, "", body)
	if err != nil || got != status || !strings.Contains(text, answer) {
		t.Errorf("%s %s: %d %.200s, %v; want %d %s", method, url, got, text, err, status, answer)
	}
}

func awaitFile(t *testing.T, file string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("there is no %s", file)
		}
	}
}
