// Package datacmd has the commands of dogwood data, for documents that declare data.
package datacmd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/explain"
)

// Command is the tools for documents that declare data.
type Command struct {
	Check checkCommand `cmd:"" help:"Check a document that declares data, and print what it costs."`
}

func (Command) Help() string {
	return `A data document declares inverse indexes, counters, sums, bounded lists, expiry and
compound indexes. This version checks documents; servers do not apply them yet.

Examples:

  dogwood data check database.data.json`
}

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
	doc, err := derive.Parse(string(text))
	var errs derive.Errors
	if errors.As(err, &errs) {
		if err := explain.Errors(e.Stdout, c.File, string(text), shown(errs)); err != nil {
			return err
		}
		return console.Unusable(errors.New(console.Count(len(errs), "error")))
	}
	if err != nil {
		return console.Unusable(err)
	}
	return c.print(e.Stdout, doc)
}

// read reads the document. It reads no more than shows that it is too large.
func (c *checkCommand) read(e *console.Env) ([]byte, error) {
	in := e.Stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	return io.ReadAll(io.LimitReader(in, derive.MaxDocument+1))
}

// shown returns errors in the form in which those of rules are shown.
func shown(errs derive.Errors) (list rules.Errors) {
	for _, err := range errs {
		list = append(list, &rules.SyntaxError{Pos: rules.Pos(err.Pos), Msg: err.Msg})
	}
	return list
}

func (c *checkCommand) print(w io.Writer, doc *derive.Document) error {
	_, err := fmt.Fprintf(w, "%s: %s, no errors\n", c.File, console.Count(len(doc.Definitions()), "definition"))
	for _, d := range doc.Definitions() {
		if err == nil {
			cost := d.Cost()
			_, err = fmt.Fprintf(w, "\n%s: %s %s\n  rows for one node:   %s\n  rows for k removed:  %s\n", d.Name, d.Kind, d.Summary(), cost.Node, cost.Ancestor)
		}
	}
	return err
}
