package main

import (
	"io"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/server"
	"github.com/dogwooddb/dogwood/server/servertest"
)

// A secret that a person types is not shown.
func TestLoginOnATerminal(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("DOGWOOD_URL", "")
	s := servertest.New(t, server.Options{Dev: true})
	person, program := openTerminal(t)
	e := &console.Env{Ctx: t.Context(), Stdin: program, Stdout: console.ScreenOf(program), Stderr: console.ScreenOf(program)}
	ended := make(chan int, 1)
	go func() { ended <- run(e, []string{"login", s.URL, "--profile", "here"}) }()
	seen := &screenReader{t: t, file: person}
	seen.await("(it is not shown): ")
	if _, err := io.WriteString(person, "sesame-is-a-secret\r"); err != nil {
		t.Fatal(err)
	}
	shown := seen.await("accepts the secret")
	if strings.Contains(shown, "sesame") {
		t.Errorf("the terminal shows %q", shown)
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
	if code, out, _ := runCommand(t, "", "profiles"); code != 0 || !strings.HasPrefix(out, "here  http://127.0.0.1:") || strings.Contains(out, "sesame") {
		t.Errorf("profiles: %d %q", code, out)
	}
}
