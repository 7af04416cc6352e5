package server

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/logdir"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// killedServer returns a data directory as a killed server leaves it: each database has its
// name at /n, in the log alone.
func killedServer(t *testing.T, names ...string) (dir string) {
	t.Helper()
	live, killed := t.TempDir(), t.TempDir()
	s := serveTest(t, Options{Dir: live, Dev: true})
	for _, name := range names {
		if r := s.do(call{http.MethodPut, "/n.json?ns=" + name, bearer("owner"), `"` + name + `"`}); r.StatusCode != http.StatusOK {
			t.Fatal(r.StatusCode, r.body)
		}
	}
	if err := os.CopyFS(killed, os.DirFS(live)); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		wantNeeds(t, killed, name, true)
	}
	return killed
}

func wantNeeds(t *testing.T, dir, name string, want bool) {
	t.Helper()
	if _, needs, err := store.InLog(filepath.Join(dir, name+".db")); err != nil || needs != want {
		t.Errorf("%s needs the log: %t, %v, want %t", name, needs, err, want)
	}
}

// startOn starts a server, compares what is at /n of databases, and closes it.
func startOn(t *testing.T, o Options, want map[string]string) {
	t.Helper()
	o.Dev = true
	s := serveTest(t, o)
	for ns, text := range want {
		if r := s.do(call{http.MethodGet, "/n.json?ns=" + ns, nil, ""}); r.body != text {
			t.Errorf("%s has %d %s, want %s", ns, r.StatusCode, r.body, text)
		}
	}
	closeServed(t, s)
}

// closeServed closes a server, after which no file needs a record of the log.
func closeServed(t *testing.T, s *testServer) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if log := s.spaces.log; log != nil && log.Pending() {
		t.Error("the log has records that no file needs")
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestLogAfterKill: the commits of all databases that a killed server leaves in its log are
// in the files when the next one has started. Those of a file that is away are
// kept, and are in it when it comes back, under any name.
func TestLogAfterKill(t *testing.T) {
	dir := killedServer(t, "a", "b", "away")
	file, away := filepath.Join(dir, "away.db"), filepath.Join(t.TempDir(), "away.db")
	rename(t, file, away)
	startOn(t, Options{Dir: dir}, map[string]string{"a": `"a"`, "b": `"b"`})
	for _, name := range []string{"a", "b"} {
		wantNeeds(t, dir, name, false)
	}
	kept, err := logdir.KeptIn(dir)
	if err != nil || len(kept) != 1 {
		t.Errorf("kept: %+v, %v", kept, err)
	}
	startOn(t, Options{Dir: dir}, nil)
	rename(t, away, filepath.Join(dir, "renamed.db"))
	startOn(t, Options{Dir: dir}, map[string]string{"renamed": `"away"`})
	wantNeeds(t, dir, "renamed", false)
	if kept, err := logdir.KeptIn(dir); err != nil || len(kept) > 0 {
		t.Errorf("still kept: %+v, %v", kept, err)
	}
}

// TestLogDeactivated: a database that is out of service does not hold the log, and has its
// commits when it is back.
func TestLogDeactivated(t *testing.T) {
	dir := killedServer(t, "a", "off")
	for range 2 {
		s := serveTest(t, Options{Dir: dir, Dev: true, Deactivated: []string{"off"}})
		closeServed(t, s)
	}
	wantNeeds(t, dir, "off", true)
	startOn(t, Options{Dir: dir}, map[string]string{"off": `"off"`})
}

// TestLogReplaced: the file of an older state takes the name of one with commits in the log.
// They are kept for the one that they belong to.
func TestLogReplaced(t *testing.T) {
	dir := killedServer(t, "a")
	file := filepath.Join(dir, "a.db")
	rename(t, file, file+".old")
	for _, n := range []string{"null", "1"} { // null: the new one is made
		startOn(t, Options{Dir: dir}, map[string]string{"a": n})
		s := serveTest(t, Options{Dir: dir, Dev: true})
		if r := s.do(call{http.MethodPut, "/n.json?ns=a", bearer("owner"), "1"}); r.StatusCode != http.StatusOK {
			t.Fatal(r.body)
		}
		closeServed(t, s)
	}
	rename(t, file+".old", filepath.Join(dir, "b.db"))
	startOn(t, Options{Dir: dir}, map[string]string{"a": "1", "b": `"a"`})
}

// TestLogGivenUp: when the commits of a file were given up it is refused, and not taken for
// complete. So is a second copy of a file that got them.
func TestLogGivenUp(t *testing.T) {
	dir := killedServer(t, "a", "b")
	away := t.TempDir()
	for _, name := range []string{"a.db", "b.db"} {
		rename(t, filepath.Join(dir, name), filepath.Join(away, name))
	}
	startOn(t, Options{Dir: dir}, nil)
	comeBack := func(from, to string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(away, from))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	comeBack("b.db", "b.db")
	startOn(t, Options{Dir: dir}, map[string]string{"b": `"b"`})
	var told strings.Builder
	later := func() time.Time { return time.Now().Add(40 * 24 * time.Hour) }
	startOn(t, Options{Dir: dir, Now: later, Log: slog.New(slog.NewTextHandler(&told, nil))}, nil)
	if !strings.Contains(told.String(), "given up") {
		t.Error(told.String())
	}
	s := serveTest(t, Options{Dir: dir, Dev: true, Limits: Limits{KeepLogBytes: -1}})
	if r := s.do(call{http.MethodPut, "/n.json?ns=d", bearer("owner"), "1"}); r.StatusCode != http.StatusOK {
		t.Fatal(r.body) // it begins a segment, and the one with the commits can go
	}
	closeServed(t, s)
	comeBack("a.db", "a.db")
	comeBack("b.db", "c.db")
	for name, why := range map[string]string{"a": "given up", "c": "another copy"} {
		for _, readOnly := range []bool{true, false} {
			_, err := store.Open(filepath.Join(dir, name+".db"), store.Options{ReadOnly: readOnly})
			if !errors.Is(err, logged.ErrGone) || !strings.Contains(err.Error(), why) {
				t.Error(name, err)
			}
		}
	}
}

// TestLogRestored: a command puts the commits of a file into it, and the file gets another
// name. Nothing is kept for it.
func TestLogRestored(t *testing.T) {
	dir := killedServer(t, "a", "b")
	file := filepath.Join(dir, "a.db")
	s, err := store.Open(file, store.Options{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	rename(t, file, file+".replaced")
	startOn(t, Options{Dir: dir}, map[string]string{"b": `"b"`})
	if kept, err := logdir.KeptIn(dir); err != nil || len(kept) > 0 {
		t.Errorf("kept: %+v, %v", kept, err)
	}
}

// TestLogOfReplaced: nothing is kept for a file that a restore has replaced, if it has all commits, as
// that of a server that was stopped. One that lacks some gets them when it is put back. A copy says
// nothing about the file that is in use.
func TestLogOfReplaced(t *testing.T) {
	const replaced = ".replaced-20260101T000000Z"
	wantKept := func(dir string, want int) {
		t.Helper()
		if kept, err := logdir.KeptIn(dir); err != nil || len(kept) != want {
			t.Errorf("kept: %+v, %v, want %d", kept, err, want)
		}
	}
	dir := killedServer(t, "a", "b")
	startOn(t, Options{Dir: dir}, map[string]string{"a": `"a"`})
	file := filepath.Join(dir, "a.db")
	rename(t, file, file+replaced)
	startOn(t, Options{Dir: dir}, map[string]string{"b": `"b"`})
	wantKept(dir, 0)

	text, err := os.ReadFile(file + replaced)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := serveTest(t, Options{Dir: dir, Dev: true})
	if r := s.do(call{http.MethodPut, "/n.json?ns=a", bearer("owner"), "2"}); r.StatusCode != http.StatusOK {
		t.Fatal(r.body)
	}
	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	startOn(t, Options{Dir: killed}, map[string]string{"a": "2"})

	dir = killedServer(t, "a", "b")
	file = filepath.Join(dir, "a.db")
	rename(t, file, file+replaced)
	startOn(t, Options{Dir: dir}, map[string]string{"b": `"b"`})
	wantKept(dir, 1)
	rename(t, file+replaced, file)
	startOn(t, Options{Dir: dir}, map[string]string{"a": `"a"`})
	wantKept(dir, 0)
}

// TestForeignLog: a log of another data directory is refused.
func TestForeignLog(t *testing.T) {
	dir, other := killedServer(t, "a"), killedServer(t, "b")
	log := store.LogDir(dir)
	rename(t, log, log+".own")
	rename(t, store.LogDir(other), log)
	_, err := New(Options{Dir: dir, Dev: true})
	if !errors.Is(err, errForeignLog) {
		t.Error(err)
	}
	rename(t, log, store.LogDir(other))
	rename(t, log+".own", log)
	startOn(t, Options{Dir: dir}, map[string]string{"a": `"a"`})
}
