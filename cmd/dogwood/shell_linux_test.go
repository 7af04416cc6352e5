package main

import (
	"os"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/server"
	"github.com/dogwooddb/dogwood/server/servertest"
)

// A person edits lines, follows a value until Enter, and is asked before everything is lost.
func TestShellOnATerminal(t *testing.T) {
	t.Setenv("DOGWOOD_URL", "")
	s := servertest.New(t, server.Options{Dev: true})
	person, program := openTerminal(t)
	e := &console.Env{Ctx: t.Context(), Stdin: program, Stdout: console.ScreenOf(program), Stderr: console.ScreenOf(program)}
	ended := make(chan int, 1)
	go func() { ended <- run(e, []string{"shell", "--url", s.URL, "--owner"}) }()
	seen := &screenReader{t: t, file: person}
	for _, step := range []struct{ await, typed string }{
		{"help lists the commands", ""},
		{"/> ", "set a/b \"x\\u009b\"\r"},
		{"/> ", "cd a\r"},
		{"/a> ", "get c\x7fb\r"},
		{`"x\u009b"`, ""},
		{"/a> ", "wat\tb\r"},
		{`"data":"x\u009b"`, "\r"},
		{"/a> ", "nonsense\r"},
		{`error: unknown command "nonsense"`, ""},
		{"/a> ", "remove /\r"},
		{"Go on? [y/N] ", "n\r"},
		{"error: nothing was changed", ""},
		{"/a> ", "\x1b[A\x1b[A\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7fls\r"}, // the line before the last one
		{"\nb\r", ""},
		{"/a> ", "rm /\r"},
		{"Go on? [y/N] ", "y\r"},
		{"/a> ", "get\r"},
		{"null", ""},
		{"/a> ", "\x04"},
	} {
		seen.await(step.await)
		if _, err := person.WriteString(step.typed); err != nil {
			t.Fatal(err)
		}
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A screenReader reads what a terminal shows.
type screenReader struct {
	t    *testing.T
	file *os.File
	text string
}

// await reads until a text is shown, and returns all that was shown before it.
func (s *screenReader) await(text string) (before string) {
	s.t.Helper()
	var b [4096]byte
	for {
		if before, after, ok := strings.Cut(s.text, text); ok {
			s.text = after
			return before
		}
		n, err := s.file.Read(b[:])
		if err != nil {
			s.t.Fatalf("waiting for %q: %v, after %q", text, err, s.text)
		}
		s.text += string(b[:n])
		if strings.ContainsAny(s.text, "\u009b") {
			s.t.Fatalf("a value controls the terminal: %q", s.text)
		}
	}
}
