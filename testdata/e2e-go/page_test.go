package e2e

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPage runs the Go block of docs/from-firebase.md as it stands.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/from-firebase.md")
	ok(t, err)
	block := regexp.MustCompile("(?s)```go[^\n]*\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("the page has no Go block")
	}
	dir, err := os.MkdirTemp(".", "readme-") // inside of this module, for its dependencies
	ok(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	ok(t, os.WriteFile(filepath.Join(dir, "main.go"), block[1], 0o600))

	ctx, c := client(t)
	ok(t, c.NewRef("rooms/one").Set(ctx, map[string]string{"name": "room alpha"}))
	u, err := url.Parse(serverURL)
	ok(t, err)
	run := exec.CommandContext(ctx, "go", "run", "./"+dir)
	run.Env = append(os.Environ(), "FIREBASE_DATABASE_EMULATOR_HOST=localhost:"+u.Port()+"?ns=testpage")
	out, err := run.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "one room alpha" {
		t.Errorf("the program of the page: %v\n%s", err, out)
	}
}
