package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree/store"
)

// TestRefusedDocument: the commands for a database whose data document this version refuses. An earlier one has
// accepted it.
func TestRefusedDocument(t *testing.T) {
	dir := t.TempDir()
	file, copied, secret := filepath.Join(dir, "default.db"), filepath.Join(t.TempDir(), "copy.db"), filepath.Join(dir, "admin-secret")
	document := filepath.Join(t.TempDir(), "good.json")
	const text = `{"format": "dogwood-data/1", "define": {"sizes": {"count": "/groups/$g/$u", "to": "/sizes/$g"}}}`
	if err := os.WriteFile(document, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(wants string, args ...string) {
		t.Helper()
		command := exec.Command("dogwood", args...)
		command.Stdin = strings.NewReader("{}")
		out, err := command.CombinedOutput()
		want, fails := strings.CutPrefix(wants, "! ")
		if fails != (err != nil) || !strings.Contains(string(out), want) {
			t.Errorf("dogwood %s: %v, %s; want %s", strings.Join(args, " "), err, out, wants)
		}
	}
	var s *serverProcess
	here := func(wants string, args ...string) {
		t.Helper()
		run(wants, append(args, "--url", s.url, "--secret-file", secret)...)
	}
	start := func() {
		t.Helper()
		s = startListening(t, exec.Command("dogwood", "serve", "--port", "0", "--ops-addr", "off", "--data", dir))
	}
	stop := func() {
		t.Helper()
		if err := s.stop(); err != nil {
			t.Fatal(err)
		}
	}
	refuse := func() {
		t.Helper()
		stop()
		later := strings.Replace(text, `"count"`, `"tally"`, 1)
		db, err := store.Open(file, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *store.Tx) error {
			return versions.PutData(tx, versions.Version{Number: 7, Hash: versions.Hash(later), Size: len(later)}, later)
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	start()
	here("in force", "data", "deploy", document, "--yes")
	here("", "set", "/groups/g/ann", "true")
	refuse()

	run("! refuses the data document", "check", file)
	run("", "backup", copied, "--data", dir)
	run("! refuses the data document", "import", "/groups", "-", "--data", dir, "--yes")
	run("", "import", "/other", "-", "--data", dir, "--yes")
	start()
	here("! sizes    refused", "data", "status")
	here("! refuses the data document: no definition is in force", "data", "status")
	here("! writes to what it is about", "set", "/groups/g/bob", "true")
	here("! writes to what it is about", "data", "rebuild", "sizes")
	here("", "set", "/elsewhere", "true")
	here(`{"g":1}`, "get", "/sizes")
	here("", "backup", copied)
	here("in force again", "data", "rollback", "1", "--yes")
	here("", "set", "/groups/g/bob", "true")
	here(`{"g":2}`, "get", "/sizes")
	refuse()

	start()
	here("in force", "data", "deploy", document, "--yes")
	here("sizes  count  ready", "data", "status")
	here("", "set", "/groups/g/carl", "true")
	here(`{"g":3}`, "get", "/sizes")
	stop()
	run("ok", "check", file)
	run("", "restore", copied, "--data", t.TempDir())
}
