package datacmd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/project"
	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules/explain"
)

// checkCommand needs no data and no server, so an editor or CI can run it after each change.
type checkCommand struct {
	File string `arg:"" optional:"" default:"database.data.json" help:"Data document; - is standard input."`
}

func (checkCommand) Help() string {
	return `Prints everything that is wrong, with the line and a caret. Of a document that is
right it prints what each definition costs a write that touches it, in rows: when
one node comes, changes or goes, and when a node above k of them is removed.
The exit code is 2 if there are errors.

Examples:

  dogwood data check database.data.json
  dogwood data check - < database.data.json`
}

func (c *checkCommand) Run(e *console.Env) error {
	text, err := c.read(e)
	if err != nil {
		return console.Unusable(err)
	}
	doc, err := derive.Parse(text)
	var errs derive.Errors
	if errors.As(err, &errs) {
		if err := explain.Errors(e.Stdout, c.File, text, project.Shown(errs)); err != nil {
			return err
		}
		return console.Unusable(errors.New(console.Count(len(errs), "error")))
	}
	if err != nil {
		return console.Unusable(err)
	}
	_, err = fmt.Fprintf(e.Stdout, "%s: %s, no errors\n", c.File, console.Count(len(doc.Definitions()), "definition"))
	for _, d := range doc.Definitions() {
		if err == nil {
			err = printDefinition(e.Stdout, d, "")
		}
	}
	return err
}

// read reads the document. It reads no more than shows that it is too large.
func (c *checkCommand) read(e *console.Env) (string, error) {
	if c.File != "-" {
		return readDocument(c.File)
	}
	text, err := io.ReadAll(io.LimitReader(e.Stdin, derive.MaxDocument+1))
	return string(text), err
}

// readDocument reads the file of a document. It reads no more than shows that it is too large.
func readDocument(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, derive.MaxDocument+1))
	return string(text), err
}

// printDefinition prints what a definition does and costs. remark says what a deployment
// changes of it.
func printDefinition(w io.Writer, d *derive.Definition, remark string) error {
	cost := d.Cost()
	_, err := fmt.Fprintf(w, "\n%s: %s %s%s\n  rows for one node:   %s\n  rows for k removed:  %s\n", d.Name, d.Kind, d.Summary(), remark, cost.Node, cost.Ancestor)
	return err
}
