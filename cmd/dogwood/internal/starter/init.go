// Package starter has the command that begins a project.
package starter

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

//go:embed files
var files embed.FS

// names are the files of a project, in the order in which they are told.
var names = []string{"firebase.json", "database.rules.json", "database.rules-test.json", "data.json"}

// Init writes the files of a new project.
type Init struct {
	Dir  string `arg:"" optional:"" default:"." help:"Directory of the project, the working directory if it is not given. It is created." type:"path" placeholder:"DIR"`
	Port uint16 `help:"Port of the development server, which goes into firebase.json." default:"9000" env:"-"`
	console.Sure
}

func (Init) Help() string {
	return `Writes firebase.json, rules with tests, and data to begin with, and says what to do next.
Users at a terminal are asked before files are replaced. Without a terminal and --yes,
nothing is replaced: if one of the files is there, none is written.

Examples:

  dogwood init
  dogwood init ./my-app --port 9100`
}

func (c *Init) Run(e *console.Env) error {
	if err := durable.MkdirAll(c.Dir, 0o777); err != nil {
		return err
	}
	there, err := c.there()
	if err != nil {
		return err
	}
	switch {
	case len(there) == 0 || c.IsSure():
	case !console.IsTerminal(e.Stdin):
		return fmt.Errorf("%s: there already; nothing was written. Choose another directory, or replace them with --yes", strings.Join(there, ", "))
	default:
		if err := e.Confirm(fmt.Sprintf("This replaces %s.", strings.Join(there, ", "))); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := c.write(name, len(there) > 0); err != nil {
			return err
		}
		fmt.Fprintf(e.Stdout, "wrote %s\n", filepath.Join(c.Dir, name))
	}
	c.next(e)
	return nil
}

// there returns which of the files exist.
func (c *Init) there() (list []string, err error) {
	for _, name := range names {
		file := filepath.Join(c.Dir, name)
		switch _, err := os.Lstat(file); {
		case err == nil:
			list = append(list, file)
		case !errors.Is(err, os.ErrNotExist):
			return nil, err
		}
	}
	return list, nil
}

func (c *Init) write(name string, replace bool) error {
	text, err := files.ReadFile("files/" + name)
	if err != nil {
		return err
	}
	if name == "firebase.json" {
		text = []byte(strings.Replace(string(text), "9000", strconv.Itoa(int(c.Port)), 1))
	}
	put := durable.Create // another program may have made one meanwhile
	if replace {
		put = durable.Replace
	}
	return put(filepath.Join(c.Dir, name), text, 0o666)
}

// next prints what to do.
func (c *Init) next(e *console.Env) {
	enter := ""
	if wd, err := os.Getwd(); err != nil || filepath.Clean(c.Dir) != wd {
		enter = fmt.Sprintf("  cd %s\n", c.Dir)
	}
	fmt.Fprintf(e.Stdout, `
Next:

%s  dogwood rules test
  dogwood dev --import data.json
  dogwood get /rooms                  (in a second terminal)
`, enter)
}
