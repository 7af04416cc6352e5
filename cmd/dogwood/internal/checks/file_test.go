package checks

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// TestFound: only findings and panics of the process that checks a file are damage.
func TestFound(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	const beyond = "damaged beyond reading; restore it from a backup "
	for script, want := range map[string]struct {
		findings []string
		err      string
	}{
		"exit 0":                                {},
		"echo one; echo two; exit 1":            {findings: []string{"one", "two"}},
		"echo 'panic: page 3' >&2; exit 2":      {findings: []string{beyond + "(panic: page 3)"}},
		"echo 'fatal error: fault' >&2; exit 2": {findings: []string{beyond + "(fatal error: fault)"}},
		"printf 'panic: page 3\\n\\ngoroutine 1: out of memory' >&2; exit 2": {findings: []string{beyond + "(panic: page 3)"}},
		"kill -KILL $$": {err: "says nothing about the file (signal: killed)"},
		"kill -TERM $$": {err: "says nothing about the file (signal: terminated)"},
		"exit 143":      {err: "says nothing about the file (exit status 143)"},
		"exit 1":        {err: "says nothing about the file (exit status 1)"},
		"echo 'fatal error: runtime: out of memory' >&2; exit 2": {
			err: "says nothing about the file (exit status 2: fatal error: runtime: out of memory)"},
		"printf 'runtime: failed to create new OS thread\\nfatal error: newosproc\\n' >&2; exit 2": {
			err: "says nothing about the file (exit status 2: runtime: failed to create new OS thread)"},
	} {
		got, err := found(t.Context(), "a.db", exec.Command("sh", "-c", script))
		if !slices.Equal(got, want.findings) || (err == nil) != (want.err == "") || err != nil && !strings.HasSuffix(err.Error(), want.err) {
			t.Errorf("%s: %q, %v; want %q, %s", script, got, err, want.findings, want.err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := found(ctx, "a.db", exec.Command("sh", "-c", "kill -KILL $$")); !errors.Is(err, console.ErrInterrupted) {
		t.Errorf("a check that is interrupted: %v", err)
	}
}
