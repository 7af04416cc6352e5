package datacmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/checks"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/project"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/versioned"
	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules/explain"
)

// checkCommand needs no data and no server but with --stored, so an editor or CI can run it after each change.
type checkCommand struct {
	File   string `arg:"" optional:"" default:"database.data.json" help:"Data document; - is standard input."`
	Stored bool   `help:"Compare the data of a server with what its data document says, as dogwood check does with a file."`
	client.Flags
}

func (checkCommand) Help() string {
	return `Prints everything that is wrong, with the line and a caret. Of a document that is
right it prints what each definition costs a write that touches it, in rows: when
one node comes, changes or goes, and when a node above k of them is removed.
The exit code is 2 if there are errors.

With --stored it instead checks what a server has stored: it receives a copy of the data
file, as of one moment and while the server goes on working, into the directory for
temporary files, checks it as dogwood check does, and removes it. Definitions that are not
ready are named, and not compared. The exit code is 1 if something does not agree.

Examples:

  dogwood data check database.data.json
  dogwood data check - < database.data.json
  dogwood data check --stored --secret-file dogwood-data/admin-secret`
}

func (c *checkCommand) Run(e *console.Env) error {
	if c.Stored {
		return c.checkStored(e)
	}
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

// checkStored checks a copy of the data file of a server.
func (c *checkCommand) checkStored(e *console.Env) (err error) {
	db, err := c.Client()
	if err != nil {
		return err
	}
	list, err := statusOf(e, db)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.State != "ready" && s.State != "off" {
			fmt.Fprintf(e.Stdout, "%s is %s and not compared\n", console.Printable(s.Name), console.Printable(s.State))
		}
	}
	dir, err := os.MkdirTemp("", "dogwood-check-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "copy.db")
	if err := c.copyTo(e, file); err != nil {
		return err
	}
	line := e.StatusLine()
	line.Show("the copy is being checked")
	findings, err := checks.Apart(e.Ctx, file)
	if line.Clear(); err != nil {
		return err
	}
	for _, finding := range findings {
		fmt.Fprintln(e.Stdout, console.Printable(finding))
	}
	if len(findings) > 0 {
		return console.Failed("the data%s did not pass; dogwood data rebuild mends what a definition keeps", versioned.InDatabase(db))
	}
	_, err = fmt.Fprintln(e.Stdout, "ok")
	return err
}

// copyTo receives the data file of the server.
func (c *checkCommand) copyTo(e *console.Env, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	stop := console.ShowProgress(e, func() int64 {
		info, err := f.Stat()
		if err != nil {
			return 0
		}
		return info.Size()
	}, 0)
	err = client.ReceiveBackup(e.Ctx, c.Flags, f)
	stop()
	return errors.Join(err, f.Close())
}

// read reads the document. It reads no more than shows that it is too large.
func (c *checkCommand) read(e *console.Env) (string, error) {
	if c.File != "-" {
		return readDocument(c.File)
	}
	text, err := io.ReadAll(io.LimitReader(e.Input("the document"), derive.MaxDocument+1))
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
	if doubt := d.Doubt(); err == nil && doubt != "" {
		_, err = fmt.Fprintf(w, "  warning:             %s\n", doubt)
	}
	return err
}
