// Package remote has the commands that read and write values of a running server, and those
// that show what it does: get, set, update, push, remove, watch, explain and top.
package remote

import (
	"io"
	"net/http"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
)

// Get prints a value.
type Get struct {
	Path string `arg:"" optional:"" default:"/" help:"Path in the database; the root if it is not given."`
	client.QueryFlags
	Shallow bool   `help:"Print the keys only, each with true for its value."`
	Export  bool   `help:"Also print priorities, in a form that set reads."`
	Pretty  *bool  `negatable:"" help:"Indent the output. This is the default on a terminal; pipes and files get one line."`
	Output  string `short:"o" help:"File to write instead of standard output. An existing file is replaced when everything has arrived." type:"path" placeholder:"FILE"`
	client.Flags
}

func (Get) Help() string {
	return `Prints the value as JSON; if there is none, null.

Examples:

  dogwood get /rooms/lobby
  dogwood get /rooms --shallow | jq -r 'keys[]'
  dogwood get /messages/lobby --order-by sentAt --limit-to-last 20
  dogwood get /scores --order-by-value --start-at 100
  dogwood get / --export -o backup.json
  dogwood get /.settings/rules --secret-file dogwood-data/admin-secret`
}

func (c *Get) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	q, err := c.Values(c.Shallow)
	if err != nil {
		return err
	}
	if c.Export {
		q.Set("format", "export")
	}
	if c.pretty(e) {
		q.Set("print", "pretty")
	}
	r, err := db.Request(e.Ctx, http.MethodGet, c.Path, q, nil)
	if err != nil {
		return err
	}
	if c.Output == "" || c.Output == "-" {
		return console.PrintTo(e.Stdout, func(w io.Writer) error { return db.Call(r, w) })
	}
	return datadir.WriteFile(c.Output, 0o666, func(w io.Writer) error {
		return console.PrintTo(w, func(w io.Writer) error { return db.Call(r, w) })
	})
}

// pretty reports whether to indent: people at a terminal read it, while programs behind a
// pipe expect one value per line.
func (c *Get) pretty(e *console.Env) bool {
	if c.Pretty != nil {
		return *c.Pretty
	}
	return (c.Output == "" || c.Output == "-") && console.IsTerminal(e.Stdout)
}
