package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"runtime"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// A PUT of 220 MB by an administrator takes at most 300 MiB of memory, pages of files
// included, whether its value is sent back or not. The test of what is sent back, for smaller
// bodies of all kinds, is TestEchoOfLargePut in package server.
func TestMemoryOfLargePut(t *testing.T) {
	tier.Need(t, tier.Long)
	if runtime.GOOS != "linux" {
		t.Skip("the size of a process is read from /proc")
	}
	const most = 300 << 20
	for _, c := range []struct {
		query  string
		status int
	}{{"", 200}, {"?print=silent", 204}} {
		data := t.TempDir()
		cmd := exec.Command("dogwood", "serve", "--port", "0", "--data", data, "--ops-addr", "off")
		s := startListening(t, cmd)
		sent, got := sha256.New(), sha256.New()
		r, err := http.NewRequestWithContext(t.Context(), "PUT", s.url+"/x.json"+c.query, io.TeeReader(largeBody(), sent))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secretOf(t, data))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(got, resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.status {
			t.Fatalf("PUT%s: %d, %v", c.query, resp.StatusCode, err)
		}
		if c.status == 200 && string(got.Sum(nil)) != string(sent.Sum(nil)) {
			t.Errorf("PUT%s: the answer of %d bytes is not what was sent", c.query, n)
		}
		if peak := statusOf(t, cmd.Process.Pid, "VmHWM"); peak > most {
			t.Errorf("PUT%s: the server took %d MiB, and may take %d MiB", c.query, peak>>20, most>>20)
		}
		if err := s.stop(); err != nil {
			t.Errorf("the server ended with %v\n%s", err, &s.stderr)
		}
	}
}

// largeBody yields 220 MB of canonical JSON: 840,000 rows of ten leaves.
func largeBody() io.Reader {
	r, w := io.Pipe()
	go func() {
		sep := "{"
		for i := range 840_000 {
			row := fmt.Appendf(nil, `%s"r%07d":`, sep, i)
			for j := range 10 {
				row = fmt.Appendf(row, `%c"f%d":"value %d of %d"`, "{,"[min(j, 1)], j, j, i)
			}
			if _, err := w.Write(append(row, '}')); err != nil {
				return
			}
			sep = ","
		}
		_, err := io.WriteString(w, "}")
		w.CloseWithError(err)
	}()
	return r
}
