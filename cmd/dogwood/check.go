package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/dogwooddb/dogwood/tree/store"
)

type checkCommand struct {
	Here  bool     `hidden:"" env:"-" help:"Check one file in this process and print the bare findings."`
	Files []string `arg:"" name:"file" optional:"" help:"Data files; without any, all of the data directory." type:"path"`
	Data  string   `help:"Directory that holds the data, ./dogwood-data if it is not given." default:"./dogwood-data" type:"path" placeholder:"DIR"`
}

func (checkCommand) Help() string {
	return `Verifies everything that must hold of a data file: its pages, that each value can
be read and is reachable once, and that the indexes agree with the values. The
exit code is 1 if something does not hold. The server must be stopped; check a
copy of its files while it runs.

Examples:

  dogwood check --data /var/lib/dogwood
  dogwood check backup/default.db`
}

func (c *checkCommand) Run(e *env) error {
	if c.Here {
		return c.runHere(e)
	}
	files := c.Files
	if len(files) == 0 {
		var err error
		if files, err = databases(c.Data); err != nil {
			return err
		}
	}
	bad := 0
	for _, file := range files {
		findings, err := checkApart(e, file)
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

func (c *checkCommand) runHere(e *env) error {
	findings := checkFile(c.Files[0])
	for _, finding := range findings {
		fmt.Fprintln(e.stdout, finding)
	}
	if len(findings) > 0 {
		return errors.New("the file did not pass")
	}
	return nil
}

// checkApart runs checkFile in a process of its own. bbolt takes a file for
// sound and ends the process, from goroutines that nobody can recover, where
// its pages make no sense.
func checkApart(e *env, file string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(e.ctx, self, "check", "--here", file)
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
		err = fmt.Errorf("no data files in %s", dir)
	}
	return files, err
}

// checkFile returns what is wrong with a file. It does not create or change one.
func checkFile(file string) []error {
	info, err := os.Stat(file)
	if err != nil {
		return []error{errors.Unwrap(err)} // without the name
	}
	if info.Size() == 0 {
		return []error{errors.New("empty file: not a Dogwood database")}
	}
	findings, err := store.CheckFile(file)
	if err != nil {
		return append(findings, explainOpen(err))
	}
	return findings
}
