package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sdk-go/embed"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// unzipped returns a file of testdata/formats.
func unzipped(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("../../testdata/formats", name+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// oldData returns a data directory with a file of format 1.
func oldData(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "default.db")
	if err := os.WriteFile(file, unzipped(t, "1.db"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, file
}

// formatOf returns the format of a closed file, and whether its upgrade is under way.
func formatOf(t *testing.T, file string) (format string, upgrading bool) {
	t.Helper()
	db, err := bolt.Open(file, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte{byte(kv.Meta)})
		format, upgrading = string(meta.Get([]byte("format"))), meta.Get([]byte("checksums")) != nil
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return format, upgrading
}

// TestUpgrade upgrades the file of an earlier version while clients write, kills the server
// in between, and wants all that was there and all that was acknowledged.
func TestUpgrade(t *testing.T) {
	tier.Need(t, tier.Full)
	dir, file := oldData(t)
	if format, _ := formatOf(t, file); format != "dogwood 1" {
		t.Fatalf("the format is %q", format)
	}
	var want map[string]any
	if err := json.Unmarshal(unzipped(t, "1.json"), &want); err != nil {
		t.Fatal(err)
	}
	const writers, writes = 4, 150
	load := make([]atomic.Int64, writers) // the last write that was acknowledged
	for round := range 3 {
		s := startProcess(t, "serve", "--port", "0", "--ops-addr", "off", "--data", dir)
		if err := s.listening(); err != nil {
			t.Fatal(err)
		}
		writeBeside(t, s, secretOf(t, dir), load, int64(writes*(round+1)))
		if round == 0 {
			s.kill()
			continue
		}
		readOld(t, s, secretOf(t, dir), want)
		if err := s.stop(); err != nil {
			t.Errorf("stop: %v\n%s", err, &s.stderr)
		}
	}
	if format, upgrading := formatOf(t, file); format != "dogwood 2" || upgrading {
		t.Errorf("in the end the format is %q, upgrading %t", format, upgrading)
	}
	if out, err := exec.Command("dogwood", "check", file).CombinedOutput(); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
	out, err := exec.Command("dogwood", "export", "/load", "--data", dir).Output()
	var got map[string]int64
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	for i := range load {
		if n := load[i].Load(); err != nil || got[fmt.Sprint("w", i)] != n {
			t.Errorf("writer %d: %v, %v, want %d", i, got, err, n)
		}
	}
}

// writeBeside has each writer count up to a number, one write after the other, and waits
// for all of them.
func writeBeside(t *testing.T, s *serverProcess, secret string, load []atomic.Int64, last int64) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range load {
		wg.Go(func() {
			for n := load[i].Load() + 1; n <= last; n++ {
				status, text, err := request(context.Background(), http.MethodPut, fmt.Sprintf("%s/load/w%d.json", s.url, i), secret, fmt.Sprint(n))
				if err != nil || status != http.StatusOK {
					t.Errorf("writer %d: %d %q, %v", i, status, text, err)
					return
				}
				load[i].Store(n)
			}
		})
	}
	wg.Wait()
}

// readOld wants everything that the old version had.
func readOld(t *testing.T, s *serverProcess, secret string, want map[string]any) {
	t.Helper()
	status, text, err := request(t.Context(), http.MethodGet, s.url+"/.json?format=export", secret, "")
	if err != nil || status != http.StatusOK {
		t.Fatalf("%d, %v", status, err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "load")
	for name := range want {
		if !reflect.DeepEqual(got[name], want[name]) {
			t.Errorf("/%s is not what the old version had", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %d values at the root, there were %d", len(got), len(want))
	}
}

// formats are one beyond those that this version reads, by those that it writes: to files without a data
// document, and to those with one.
var formats = map[string]string{"dogwood 2": "dogwood 6", "dogwood 4": "dogwood 6"}

// TestDowngradeIsRefused raises the format of a file, as a later version would. Every command that opens
// files says what to do, and leaves the file as it is. The file with a data document is also what versions without
// declared data meet: they know no formats beyond dogwood 3, and have the same check.
func TestDowngradeIsRefused(t *testing.T) {
	for format, later := range formats {
		t.Run(format, func(t *testing.T) { downgrade(t, format, later) })
	}
}

func downgrade(t *testing.T, format, later string) {
	dir, file := oldData(t)
	s := startListening(t, exec.Command("dogwood", "serve", "--port", "0", "--ops-addr", "off", "--data", dir))
	if format == "dogwood 4" {
		document := `{"format": "dogwood-data/1", "define": {"sizes": {"count": "/rooms/$r/$m", "to": "/sizes/$r"}}}`
		if status, text, err := request(t.Context(), http.MethodPut, s.url+"/.settings/data.json", secretOf(t, dir), document); err != nil || status != http.StatusOK {
			t.Fatalf("%d %q, %v", status, text, err)
		}
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if is, _ := formatOf(t, file); is != format {
		t.Fatalf("the format is %q", is)
	}
	raised := raiseFormat(t, file, format, later)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	for _, args := range [][]string{
		{"serve", "--port", "0", "--ops-addr", "off", "--data", dir},
		{"check", file},
		{"check", "--data", dir},
		{"check", "--invariants", "../../testdata/models/org/ops.json", file},
		{"export", "/", "--data", dir},
		{"import", "/", "-", "--data", dir, "--yes"},
		{"backup", filepath.Join(t.TempDir(), "copy.db"), "--data", dir},
		{"restore", file, "--data", elsewhere},
		{"compact", "--data", dir},
		{"log", "--data", dir},
	} {
		command := exec.Command("dogwood", args...)
		command.Stdin = strings.NewReader("{}")
		out, err := command.CombinedOutput()
		text := string(out)
		if err == nil || !strings.Contains(text, `written by another version of Dogwood: format "`+later+`", this one reads up to "dogwood 5"; use that version, or restore a backup from before the upgrade`) {
			t.Errorf("dogwood %s: %v, %s", strings.Join(args, " "), err, text)
		}
		if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, raised) {
			t.Errorf("dogwood %s: the file has changed, %v", strings.Join(args, " "), err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(elsewhere, "*.db")); err != nil || len(left) > 0 {
		t.Errorf("restored: %v, %v", left, err)
	}
	if _, err := embed.Open(dir); err == nil || !strings.Contains(err.Error(), `format "`+later+`", this one reads up to "dogwood 5"`) {
		t.Errorf("a Go program: %v", err)
	}
}

// raiseFormat has a file say that it has a later format, and returns its bytes.
func raiseFormat(t *testing.T, file, format, later string) []byte {
	t.Helper()
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raised := bytes.ReplaceAll(old, []byte(format), []byte(later))
	if bytes.Equal(raised, old) {
		t.Fatal("the file does not say its format")
	}
	if err := os.WriteFile(file, raised, 0o600); err != nil {
		t.Fatal(err)
	}
	return raised
}
