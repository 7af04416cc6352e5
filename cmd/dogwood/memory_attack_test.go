package main

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// startSmall starts a server with so many bytes of memory, for clients that are not exempt
// from bounds and may read and write everything.
func startSmall(t *testing.T, limit int64) (*serverProcess, *exec.Cmd) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the size of a process is read from /proc")
	}
	rules := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(rules, []byte(`{"rules":{".read":true,".write":true}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("dogwood", "serve", "--port", "0", "--data", t.TempDir(), "--rules", rules, "--exempt", "none", "--ops-addr", "off")
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%d", limit))
	return startListening(t, cmd), cmd
}

// A server with little memory stays below it, and answers others, while clients ask for
// more in each way that takes much: bodies of short values and of long keys, and large
// answers that are not read.
func TestMemoryOfServer(t *testing.T) {
	tier.Need(t, tier.Full)
	const limit = 192 << 20
	s, cmd := startSmall(t, limit)
	put := func(path, body string) int {
		status, _, _ := request(t.Context(), "PUT", s.url+path+".json?print=silent", "", body) // 0 if it was refused before all of it was sent
		return status
	}
	for i := range 16 {
		if status := put(fmt.Sprintf("/large/%02d", i), `"`+strings.Repeat("x", 1<<20)+`"`); status != 204 {
			t.Fatalf("PUT of a long string: %d", status)
		}
	}

	values := "[" + strings.Repeat("1,", 500_000) + "1]"
	var keys strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&keys, `,"%06d%s":1`, i, strings.Repeat("k", 60))
	}
	var clients sync.WaitGroup
	for i := range 12 {
		clients.Go(func() {
			for _, body := range []string{values, "{" + keys.String()[1:] + "}"} {
				if status := put(fmt.Sprintf("/x%d", i), body); status != 0 && status != 413 && status != 503 && status != 429 {
					t.Errorf("PUT of %d KiB: %d", len(body)>>10, status)
				}
			}
		})
	}
	clients.Wait()

	u, _ := url.Parse(s.url)
	var deaf []net.Conn
	for range 24 {
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		deaf = append(deaf, c)
		c.(*net.TCPConn).SetReadBuffer(4 << 10)
		fmt.Fprintf(c, "GET /large.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	time.Sleep(time.Second) // more reads begin; that fewer do makes the test weaker, and not fail
	if status := put("/small", "1"); status != 204 {
		t.Errorf("a small write beside them: %d", status)
	}
	if size := anonymousPeak(t, cmd.Process.Pid); size > limit+limit/4 {
		t.Errorf("the server took %d MiB, and may take %d MiB", size>>20, limit>>20)
	}
	for _, c := range deaf {
		c.Close()
	}
	if err := s.stop(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, &s.stderr)
	}
	if !regexp.MustCompile(`msg=started .*memory_source=GOMEMLIMIT memory=192MiB`).MatchString(s.stderr.String()) {
		t.Errorf("the server does not log its bounds:\n%.500s", &s.stderr)
	}
}

// anonymousPeak returns the most that a process had in memory, without the pages of files
// that it has there now: the system can take those back.
func anonymousPeak(t *testing.T, pid int) int64 {
	t.Helper()
	of := func(name string) int64 { return statusOf(t, pid, name) }
	return max(of("VmHWM")-of("RssFile")-of("RssShmem"), of("RssAnon")) // shmem: of files in a tmpfs
}

// statusOf returns how many bytes the system tells of a process under a name.
func statusOf(t *testing.T, pid int, name string) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Skipf("the system does not tell %s", name)
	}
	kib, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return kib << 10
}
