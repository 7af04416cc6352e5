package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/dirlock"
)

type checkCommand struct {
	Here       bool     `hidden:"" env:"-" help:"Check one file in this process and print the bare findings."`
	Files      []string `arg:"" name:"file" optional:"" help:"Data files, or directories of them; without any, all of the data directory." type:"path"`
	Invariants string   `help:"Check what this file says must hold of the values, and nothing else." env:"-" type:"path" placeholder:"FILE"`
	Data       string   `help:"Directory that holds the data, ./dogwood-data if it is not given." default:"./dogwood-data" type:"path" placeholder:"DIR"`
}

func (checkCommand) Help() string {
	return `Verifies everything that must hold of a data file: its pages, that each value can
be read and is reachable once, and that the indexes agree with the values. The
exit code is 1 if something does not hold. The server must be stopped; check a
copy of its files, such as a backup, while it runs.

With --invariants it verifies instead what the rules of an application are to
guarantee: that both sides of an index are there, that copies agree, that counters
count. It reads one snapshot, and needs little memory whatever the size of the file.
docs/invariants.md describes them.

Examples:

  dogwood check --data /var/lib/dogwood
  dogwood check /var/lib/dogwood
  dogwood check backup/default.db
  dogwood check --invariants chat.ops.json backup/default.db`
}

func (c *checkCommand) Run(e *env) error {
	if c.Here {
		return c.runHere(e)
	}
	var args []string
	if c.Invariants != "" {
		if _, err := readInvariants(c.Invariants); err != nil {
			return err
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
		findings, err := checkApart(e, file, args...)
		if err != nil {
			return err
		}
		if len(findings) == 0 {
			findings = []string{"ok"}
		} else {
			bad++
		}
		for _, finding := range findings {
			fmt.Fprintf(e.stdout, "%s: %s\n", file, finding)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d files did not pass", bad, len(files))
	}
	return nil
}

// dataFiles returns the files to check, of directories all of them, and locks the
// directories until release is called.
func (c *checkCommand) dataFiles() (files []string, release func(), err error) {
	var locks []*dirlock.Lock
	release = func() {
		for _, lock := range locks {
			_ = lock.Release() // it was for reading
		}
	}
	named := c.Files
	if len(named) == 0 {
		named = []string{c.Data}
	}
	for _, name := range named {
		if info, err := os.Stat(name); len(c.Files) > 0 && (err != nil || !info.IsDir()) {
			files = append(files, name)
			continue
		}
		list, err := databases(name)
		if err != nil {
			release()
			return nil, nil, err
		}
		files = append(files, list...)
		// If the directory is in use, the files are, and that is what is found.
		if lock, err := dirlock.Shared(name); err == nil {
			locks = append(locks, lock)
		}
	}
	return files, release, nil
}

func (c *checkCommand) runHere(e *env) error {
	findings, err := c.findings(e)
	if err != nil {
		return err
	}
	for _, finding := range findings {
		fmt.Fprintln(e.stdout, finding)
	}
	if len(findings) > 0 {
		return errors.New("the file did not pass")
	}
	return nil
}

// findings returns what is wrong with the file, by the kind of check asked for.
func (c *checkCommand) findings(e *env) ([]error, error) {
	if c.Invariants == "" {
		return checkFile(c.Files[0]), nil
	}
	invariants, err := readInvariants(c.Invariants)
	if err != nil {
		return nil, err
	}
	return examine(c.Files[0], func(file string) ([]error, error) {
		return checkInvariants(e.ctx, file, invariants)
	}), nil
}

// checkApart runs a check of a file in a process of its own. bbolt takes a file for
// sound and ends the process, from goroutines that nobody can recover, where
// its pages make no sense.
func checkApart(e *env, file string, args ...string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(e.ctx, self, append([]string{"check", "--here", file}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	findings := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	exit := (*exec.ExitError)(nil)
	switch {
	case e.ctx.Err() != nil:
		return nil, errInterrupted
	case err == nil:
		return nil, nil
	case !errors.As(err, &exit):
		return nil, err
	case exit.ExitCode() == 1:
		return findings, nil
	}
	reason, _, _ := strings.Cut(stderr.String(), "\n")
	return []string{"damaged beyond reading; restore it from a backup (" + reason + ")"}, nil
}

// databases returns the data files of a directory.
func databases(dir string) ([]string, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no data files in %s; name the data directory of a server, or its .db files", dir)
	}
	return files, err
}

// checkFile returns what is wrong with a file.
func checkFile(file string) []error { return examine(file, store.CheckFile) }

// examine returns what check finds wrong with a file, or why it cannot look at
// it. It does not create or change one.
func examine(file string, check func(file string) ([]error, error)) []error {
	info, err := os.Stat(file)
	if err != nil {
		return []error{errors.Unwrap(err)} // without the name
	}
	if info.Size() == 0 {
		return []error{errors.New("empty file: not a Dogwood database")}
	}
	findings, err := check(file)
	if err != nil {
		return append(findings, explainOpen(err))
	}
	return findings
}
