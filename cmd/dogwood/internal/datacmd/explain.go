package datacmd

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/sync/explained"
)

// explainCommand asks the server about a write that it does not carry out.
type explainCommand struct {
	Path   string `arg:"" help:"Path in the database."`
	Value  string `arg:"" help:"Value to write: JSON, or the name of a file that holds it. null removes, - is standard input."`
	Update bool   `help:"The value is an update: an object whose keys are paths below the path."`
	JSON   bool   `name:"json" help:"Print JSON."`
	client.Flags
}

func (explainCommand) Help() string {
	return `Prints a line for each place that would follow from the write: the definition, the path
and the value; null is a place that goes. At most 1,000 are printed. Nothing is written.

Examples:

  dogwood data explain /groups/g1/members/ana true --owner
  dogwood data explain /groups/g1 null --secret-file dogwood-data/admin-secret
  dogwood data explain / '{"users/ana/login": "ana", "users/bo/login": null}' --update`
}

func (c *explainCommand) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	p, err := (&client.DataFlags{Source: c.Value}).Payload(e)
	if err != nil {
		return err
	}
	method := http.MethodPut
	if c.Update {
		method = http.MethodPatch
	}
	r, err := db.Request(e.Ctx, method, c.Path, url.Values{"explain": {"true"}}, p)
	if err != nil {
		return err
	}
	var x explained.Write
	if err := db.Read(r, "explanation", &x); err != nil {
		return err
	}
	switch {
	case x.Cost == nil:
		return errors.New("what follows is told to administrators only; pass the admin secret with --secret-file or in DOGWOOD_SECRET (--owner on a development server)")
	case x.Follows == nil:
		x.Follows = &explained.Follows{Derived: []explained.Derived{}}
	}
	if c.JSON {
		return console.PrintJSON(e.Stdout, x.Follows)
	}
	return printFollows(e.Stdout, x.Follows)
}

// printFollows prints a line for each place that follows.
func printFollows(w io.Writer, f *explained.Follows) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range f.Derived {
		fmt.Fprintf(t, "%s\t%s\t%s\n", d.By, console.Printable(d.Path), console.Printable(string(d.Value)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if more := f.DerivedTotal - len(f.Derived); more > 0 {
		fmt.Fprintf(w, "... and %d more\n", more)
	}
	if f.Kept > 0 {
		fmt.Fprintf(w, "%s would get what follows instead of what is written there\n", console.Count(f.Kept, "place"))
	}
	for _, s := range f.Skipped {
		fmt.Fprintf(w, "%s does not match %s: %s\n", s.By, console.Printable(s.Path), console.Printable(s.Why))
	}
	for _, name := range f.Building {
		fmt.Fprintf(w, "%s is not ready, so less may follow\n", name)
	}
	if f.DerivedTotal+f.Kept == 0 {
		_, err := fmt.Fprintln(w, "nothing follows from this write")
		return err
	}
	return nil
}
