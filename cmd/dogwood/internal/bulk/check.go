package bulk

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/checks"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/dirlock"
	"github.com/dogwooddb/dogwood/tree/store/logdir"
)

// Check verifies data files. It checks each file in a process of its own, which is this
// program with --here: bbolt may crash on a damaged file, and the other files are still to be
// checked.
type Check struct {
	Here       bool     `hidden:"" env:"-" help:"Check one file in this process and print the bare findings."`
	Rows       bool     `hidden:"" env:"-" help:"Check only what a copy can spoil: not the rules, and not what follows from the values."`
	Files      []string `arg:"" name:"file" optional:"" help:"Data files, or directories of them; without any, all of the data directory." type:"path"`
	Invariants string   `help:"Check only the invariants of the values that this file declares." env:"-" type:"path" placeholder:"FILE"`
	datadir.Flag
}

func (Check) Help() string {
	return `Verifies data files: that their pages are sound, that each value can be read and is
reachable once, and that the indexes agree with the values; also that this version accepts
the rules and the data document, and that the data are there that follow from it. The exit
code is 1 if a file did not pass. The server must be stopped; while it runs, check a copy of its
files, such as a backup.

With --invariants it instead verifies what the rules of an application should
guarantee: that both sides of an index exist, that copies agree, that counters count.
It reads one snapshot, and needs little memory for files of any size.
docs/invariants.md describes invariants.

Examples:

  dogwood check --data /var/lib/dogwood
  dogwood check /var/lib/dogwood
  dogwood check backup/default.db
  dogwood check --invariants chat.ops.json backup/default.db`
}

func (c *Check) Run(e *console.Env) error {
	if c.Here {
		return c.runHere(e)
	}
	var args []string
	if c.Invariants != "" {
		if _, err := checks.ReadInvariants(c.Invariants); err != nil {
			return fmt.Errorf("--invariants: %w", err)
		}
		args = []string{"--invariants", c.Invariants}
	}
	files, release, err := c.dataFiles()
	if err != nil {
		return err
	}
	defer release()
	bad := 0
	for _, file := range files {
		findings, err := checks.Apart(e.Ctx, file, args...)
		if err != nil {
			return err
		}
		if len(findings) == 0 {
			findings = []string{"ok"}
		} else {
			bad++
		}
		for _, finding := range findings {
			fmt.Fprintf(e.Stdout, "%s: %s\n", file, finding)
		}
	}
	if err := c.tellKept(e); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d files did not pass", bad, len(files))
	}
	return nil
}

// tellKept says which commits the logs of the directories keep for files that are not there.
func (c *Check) tellKept(e *console.Env) error {
	for _, dir := range c.named() {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		kept, err := logdir.KeptIn(dir)
		if err != nil {
			return err
		}
		for _, k := range kept {
			if k.GivenUp {
				fmt.Fprintf(e.Stdout, "%s: the last commits of a database were given up on %s, since its file did not come back\n", k.File, k.Since.UTC().Format(time.DateOnly))
				continue
			}
			fmt.Fprintf(e.Stdout, "%s: the last commits of a database whose file was missing or could not be opened, kept until %s\n", k.File, k.Until.UTC().Format(time.DateOnly))
		}
	}
	return nil
}

// named returns the files and directories that the command is about.
func (c *Check) named() []string {
	if len(c.Files) == 0 {
		return []string{c.Data}
	}
	return c.Files
}

// dataFiles returns the files to check, of directories all of them, and locks the
// directories until release is called.
func (c *Check) dataFiles() (files []string, release func(), err error) {
	var locks []*dirlock.Lock
	release = func() {
		for _, lock := range locks {
			_ = lock.Release() // it was for reading
		}
	}
	for _, name := range c.named() {
		if info, err := os.Stat(name); len(c.Files) > 0 && (err != nil || !info.IsDir()) {
			files = append(files, name)
			continue
		}
		list, err := checks.Databases(name)
		if err != nil {
			release()
			if len(c.Files) == 0 {
				err = fmt.Errorf("--data: %w", err)
			}
			return nil, nil, err
		}
		files = append(files, list...)
		// A directory that is in use cannot be locked. That is no error here: its files are
		// locked, too, and the check of each reports it.
		if lock, err := dirlock.Shared(name); err == nil {
			locks = append(locks, lock)
		}
	}
	return files, release, nil
}

// runHere checks one file in this process and prints a finding on each line, which the
// process above it reads.
func (c *Check) runHere(e *console.Env) error {
	findings, err := c.findings(e)
	if err != nil {
		return err
	}
	for _, finding := range findings {
		fmt.Fprintln(e.Stdout, finding)
	}
	if len(findings) > 0 {
		return errors.New("the file did not pass")
	}
	return nil
}

// findings returns what is wrong with the file, by the kind of check asked for.
func (c *Check) findings(e *console.Env) ([]error, error) {
	switch {
	case c.Rows:
		return checks.Examine(c.Files[0], store.CheckFile), nil
	case c.Invariants == "":
		return checks.File(e.Ctx, c.Files[0]), nil
	}
	invariants, err := checks.ReadInvariants(c.Invariants)
	if err != nil {
		return nil, err
	}
	return checks.Examine(c.Files[0], func(file string) ([]error, error) {
		return checks.Invariants(e.Ctx, file, invariants)
	}), nil
}
