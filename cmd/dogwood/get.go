package main

import (
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

type getCommand struct {
	Path string `arg:"" optional:"" default:"/" help:"Path in the database; the root if it is not given."`
	queryFlags
	Shallow bool   `help:"Print the keys only, each with true for its value."`
	Export  bool   `help:"Print priorities too, in a form that set takes back."`
	Pretty  *bool  `negatable:"" help:"Indent the output. That is how it is on a terminal; pipes and files get one line."`
	Output  string `short:"o" help:"File to write instead of standard output. It is replaced when all has arrived." type:"path" placeholder:"FILE"`
	clientFlags
}

func (getCommand) Help() string {
	return `The value is printed as JSON; null is what does not exist.

Examples:

  dogwood get /rooms/lobby
  dogwood get /rooms --shallow | jq -r 'keys[]'
  dogwood get /messages/lobby --order-by sentAt --limit-to-last 20
  dogwood get /scores --order-by-value --start-at 100
  dogwood get / --export -o backup.json
  dogwood get /.settings/rules --secret-file dogwood-data/admin-secret`
}

func (c *getCommand) Run(e *env) error {
	db, err := c.client()
	if err != nil {
		return err
	}
	q, err := c.values(c.Shallow)
	if err != nil {
		return err
	}
	if c.Shallow {
		q.Set("shallow", "true")
	}
	if c.Export {
		q.Set("format", "export")
	}
	if c.pretty(e) {
		q.Set("print", "pretty")
	}
	r, err := db.request(e.ctx, http.MethodGet, c.Path, q, nil)
	if err != nil {
		return err
	}
	if c.Output == "" || c.Output == "-" {
		return printTo(e.stdout, func(w io.Writer) error { return db.call(r, w) })
	}
	return writeFile(c.Output, func(w io.Writer) error { return db.call(r, w) })
}

func (c *getCommand) pretty(e *env) bool {
	if c.Pretty != nil {
		return *c.Pretty
	}
	return (c.Output == "" || c.Output == "-") && isTerminal(e.stdout)
}

// printTo calls emit with a writer to w and ends what it wrote with a newline.
func printTo(w io.Writer, emit func(io.Writer) error) error {
	l := &lines{w: w}
	err := emit(l)
	if l.open {
		_, e := io.WriteString(w, "\n")
		err = errors.Join(err, e)
	}
	return err
}

// lines remembers whether the last line that was written is open.
type lines struct {
	w    io.Writer
	open bool
}

func (l *lines) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.open = p[len(p)-1] != '\n'
	}
	return l.w.Write(p)
}

// writeFile makes a file of what emit writes. An existing file is replaced
// when all of it has arrived, so a failure leaves it as it was.
func writeFile(name string, emit func(io.Writer) error) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeInto(name, os.O_WRONLY, emit) // a device or a pipe
	}
	part := name + ".part"
	if err := writeInto(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, emit); err != nil {
		if rm := os.Remove(part); rm != nil && !errors.Is(rm, os.ErrNotExist) {
			err = errors.Join(err, rm)
		}
		return err
	}
	return durable.Rename(part, name)
}

func writeInto(name string, flag int, emit func(io.Writer) error) error {
	f, err := os.OpenFile(name, flag, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(printTo(f, emit), f.Close())
}
