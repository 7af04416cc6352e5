package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/logged"
	"github.com/dogwooddb/dogwood/tree/store/wal"
)

// TestFlippedLog: with a damaged byte in its log, in what is kept of it, or in the name of
// the log, a database has everything that was acknowledged, or is refused.
func TestFlippedLog(t *testing.T) {
	tier.Unraced(t)
	live := t.TempDir()
	log, err := logged.OpenLog(LogDir(live), logged.LogOptions{SegmentBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(filepath.Join(live, "a.db"), Options{NoSync: true, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	putAt(t, s, "/a", `{"b":1,"c":"`+strings.Repeat("c", 700)+`"}`)
	for _, key := range []string{"d", "e", "f"} {
		putAt(t, s, "/"+key, `"`+strings.Repeat(key, 100)+`"`)
	}
	want := exported(t, s, tree.Root)
	if err := log.Close(); err != nil { // it marks its end
		t.Fatal(err)
	}
	dir := killedCopy(t, s, live)
	_ = s.Close() // the log is closed
	flip(t, dir, want)

	kept, err := logged.OpenLog(LogDir(dir), logged.LogOptions{})
	if err == nil {
		err = errors.Join(kept.Keep(), kept.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(LogDir(dir), "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names { // the kept file is enough
		if !strings.HasSuffix(name, ".kept") {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	flip(t, dir, want)
}

// flip damages each byte of the log in turn; in the lower tiers some.
func flip(t *testing.T, dir, want string) {
	t.Helper()
	refused, bytes := 0, 0
	err := filepath.WalkDir(LogDir(dir), func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(name, ".spare") {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for at := 0; at < len(data); at += tier.Pick(31, 13, 1) {
			data[at] ^= 1 << (at % 8)
			if err := os.WriteFile(name, data, 0o600); err != nil {
				return err
			}
			bytes++
			if got, err := readOnly(t, filepath.Join(dir, "a.db")); err != nil {
				refused++
				if !errors.Is(err, wal.ErrDamaged) && !errors.Is(err, wal.ErrFormat) && !errors.Is(err, logged.ErrOtherLog) && !strings.Contains(err.Error(), "unreadable") {
					t.Errorf("%s, byte %d: %v", filepath.Base(name), at, err)
				}
			} else if got != want {
				t.Errorf("%s, byte %d: %.100s", filepath.Base(name), at, got)
			}
			data[at] ^= 1 << (at % 8)
		}
		return os.WriteFile(name, data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d damages were refused", refused, bytes)
	if got, err := readOnly(t, filepath.Join(dir, "a.db")); err != nil || got != want {
		t.Errorf("without damage: %.100s, %v", got, err)
	}
	if refused < bytes/4 {
		t.Errorf("only %d of %d damages were found", refused, bytes)
	}
}

// readOnly returns the tree of a file that is only read.
func readOnly(t *testing.T, file string) (string, error) {
	t.Helper()
	s, err := Open(file, Options{ReadOnly: true})
	if err != nil {
		return "", err
	}
	text := exported(t, s, tree.Root)
	return text, s.Close()
}
