package server

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/dogwooddb/dogwood/tree/store"
)

// TestLogAfterKill: the commits of all databases that a killed server leaves in its log are
// in the files when the next one has started. Commits of a database whose file was removed
// are given up.
func TestLogAfterKill(t *testing.T) {
	dir, killed := t.TempDir(), t.TempDir()
	names := []string{"a", "b", "gone"}
	s := serveTest(t, Options{Dir: dir, Dev: true})
	for _, name := range names {
		if r := s.do(call{http.MethodPut, "/n.json?ns=" + name, bearer("owner"), `"` + name + `"`}); r.StatusCode != http.StatusOK {
			t.Fatal(r.StatusCode, r.body)
		}
	}
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, needs, err := store.InLog(filepath.Join(killed, name+".db")); err != nil || !needs {
			t.Fatalf("%s needs the log: %v, %v", name, needs, err)
		}
	}
	if err := os.Remove(filepath.Join(killed, "gone.db")); err != nil {
		t.Fatal(err)
	}
	next := serveTest(t, Options{Dir: killed, Dev: true})
	for _, name := range names[:2] {
		if r := next.do(call{http.MethodGet, "/n.json?ns=" + name, nil, ""}); r.StatusCode != http.StatusOK || r.body != `"`+name+`"` {
			t.Errorf("%s has %d %s", name, r.StatusCode, r.body)
		}
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
	if next.spaces.log.Pending() {
		t.Error("the log has records that no file needs")
	}
	for _, name := range names[:2] {
		if _, needs, err := store.InLog(filepath.Join(killed, name+".db")); err != nil || needs {
			t.Errorf("%s needs the log after it was closed: %v, %v", name, needs, err)
		}
	}
}
