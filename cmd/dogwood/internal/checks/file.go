// Package checks verifies data files and what their values must satisfy.
package checks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Copy verifies the rows of a data file that is not in use. Otherwise a database could not be backed up or
// restored whose rules or data document this version refuses, or whose declared data are to be rebuilt.
func Copy(ctx context.Context, file string) error {
	findings, err := Apart(ctx, file, "--rows")
	if err != nil || len(findings) == 0 {
		return err
	}
	return fmt.Errorf("the copy did not pass the check: %s", findings[0])
}

// Apart runs a check of a file in a process of its own. bbolt trusts a file: if pages are
// damaged, it panics in goroutines of its own, which ends the process.
func Apart(ctx context.Context, file string, args ...string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return found(ctx, file, exec.CommandContext(ctx, self, append([]string{"check", "--here", file}, args...)...))
}

// found returns what a check finds that runs in a process. A panic or a fault is damage. A
// process that ends in another way, such as one that is killed because memory is short, says
// nothing about the file.
func found(ctx context.Context, file string, check *exec.Cmd) ([]string, error) {
	var stdout, stderr strings.Builder
	check.Stdout, check.Stderr = &stdout, &stderr
	err := check.Run()
	reason, _, _ := strings.Cut(stderr.String(), "\n")
	exit := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return nil, console.ErrInterrupted
	case err == nil:
		return nil, nil
	case !errors.As(err, &exit):
		return nil, err
	case exit.ExitCode() == exitFound && stdout.Len() > 0:
		return strings.Split(strings.TrimSpace(stdout.String()), "\n"), nil
	case exit.ExitCode() == exitPanic && !lacksMemory(stderr.String()):
		return []string{"damaged beyond reading; restore it from a backup (" + reason + ")"}, nil
	}
	if reason != "" {
		reason = ": " + reason
	}
	return nil, fmt.Errorf("the check of %s did not end, perhaps for lack of memory, and says nothing about the file (%v%s)", file, exit, reason)
}

// Exit codes of a check.
const (
	exitFound = 1
	exitPanic = 2 // of the Go runtime
)

// lacksMemory reports whether a program that has panicked says that the system gave it no memory
// or no thread. The stacks behind the first empty line do not count.
func lacksMemory(stderr string) bool {
	text, _, _ := strings.Cut(stderr, "\n\n")
	return strings.Contains(text, "out of memory") || strings.Contains(text, "cannot allocate memory") || strings.Contains(text, "newosproc")
}

// Databases returns the data files of a directory.
func Databases(dir string) ([]string, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no data files in %s; name the data directory of a server, or its .db files", dir)
	}
	return files, err
}

// File returns what is wrong with a file: with its rows, or, if they are whole, with its rules, and
// with its declared data, which are derived anew.
func File(ctx context.Context, file string) []error {
	return Examine(file, func(file string) ([]error, error) {
		findings, err := store.CheckFile(file)
		if err != nil || len(findings) > 0 {
			return findings, err
		}
		return declaredData(ctx, file)
	})
}

// declaredData returns whether this version refuses the rules or the data document, and where declared
// data are not what follows, at most maxViolations of each definition.
func declaredData(ctx context.Context, file string) (findings []error, err error) {
	s, err := store.Open(file, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	found := make(map[string]int)
	err = s.View(func(tx *store.Tx) error {
		rules, err := versions.Rules(tx)
		if err != nil {
			return err
		}
		if rules != nil && rules.Refused() != nil {
			findings = append(findings, fmt.Errorf("this version of Dogwood refuses the rules: %s", strings.TrimSpace(rules.Refused().Error())))
		}
		return declared.Check(ctx, tx, time.Now(), func(definition, text string) {
			if definition == "" {
				findings = append(findings, errors.New(text))
			} else if found[definition]++; found[definition] <= maxViolations {
				findings = append(findings, fmt.Errorf("declared data %q: %s", definition, text))
			}
		})
	})
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if more := found[name] - maxViolations; more > 0 {
			findings = append(findings, fmt.Errorf("declared data %q: %d more", name, more))
		}
	}
	return findings, err
}

// Examine returns what check finds wrong with a file, or why it cannot look at
// it. It does not create or change one.
func Examine(file string, check func(file string) ([]error, error)) []error {
	info, err := os.Stat(file)
	if err != nil {
		return []error{errors.Unwrap(err)} // without the name
	}
	if info.Size() == 0 {
		return []error{errors.New("empty file: not a Dogwood database")}
	}
	findings, err := check(file)
	if err != nil {
		return append(findings, datadir.ExplainOpen(err))
	}
	return findings
}
