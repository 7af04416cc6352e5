package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/sync/explained"
)

// Explain shows what a read or a write costs. It changes nothing, also where it
// explains a write.
type Explain struct {
	Path string `arg:"" optional:"" default:"/" help:"Path in the database; the root if it is not given."`
	client.QueryFlags
	Shallow bool    `help:"Explain a listing of the keys." xor:"what"`
	Put     *string `help:"Explain a write that replaces the value: JSON, or the name of a file that holds it." xor:"what" placeholder:"DATA"`
	Update  *string `help:"Explain an update: an object whose keys are paths below the path." xor:"what" placeholder:"DATA"`
	Remove  bool    `help:"Explain a deletion of everything at the path." xor:"what"`
	JSON    bool    `help:"Print the explanation as JSON."`
	client.Flags
}

func (Explain) Help() string {
	return `Shows what a read costs: whether it uses an index, how many children it looks at, and
which index the rules lack. A write is decided and measured, but not carried out.
Operations that the rules deny are not explained.

Examples:

  dogwood explain /messages/lobby --order-by sentAt --limit-to-last 20
  dogwood explain /rooms --order-by type --equal-to public --json
  dogwood explain / --update '{"members/lobby/ana": true, "users/ana/rooms/lobby": true}'`
}

func (c *Explain) Run(e *console.Env) error {
	db, err := c.Bulk(c.Namespace)
	if err != nil {
		return err
	}
	r, err := c.request(e, db)
	if err != nil {
		return err
	}
	if c.JSON {
		return console.PrintTo(e.Stdout, func(w io.Writer) error { return db.Call(r, w) })
	}
	var text strings.Builder
	if err := db.Call(r, &text); err != nil {
		return err
	}
	if r.Method != http.MethodGet {
		var x explained.Write
		if err := json.Unmarshal([]byte(text.String()), &x); err != nil {
			return errNoExplanation
		}
		return printWriteExplanation(e.Stdout, x)
	}
	var x explained.Read
	if err := json.Unmarshal([]byte(text.String()), &x); err != nil || x.Plan == "" {
		return errNoExplanation
	}
	return printExplanation(e.Stdout, x)
}

var errNoExplanation = errors.New("the server sent no explanation; its version may be too old")

// request makes the request that is to be explained: the same one that would carry it out,
// with one more parameter.
func (c *Explain) request(e *console.Env, db *client.Client) (*http.Request, error) {
	q := url.Values{"explain": {"true"}}
	switch {
	case c.Put != nil:
		return c.write(e, db, http.MethodPut, "--put", *c.Put, q)
	case c.Update != nil:
		return c.write(e, db, http.MethodPatch, "--update", *c.Update, q)
	case c.Remove:
		return db.Request(e.Ctx, http.MethodDelete, c.Path, q, nil)
	}
	q, err := c.Values(c.Shallow)
	if err != nil {
		return nil, err
	}
	q.Set("explain", "true")
	return db.Request(e.Ctx, http.MethodGet, c.Path, q, nil)
}

// write makes the request of a write, with the data from the argument or a file.
func (c *Explain) write(e *console.Env, db *client.Client, method, flag, data string, q url.Values) (*http.Request, error) {
	p, err := (&client.DataFlags{Source: data}).Payload(e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return db.Request(e.Ctx, method, c.Path, q, p)
}

// printExplanation prints what a read takes, a line for each aspect.
func printExplanation(w io.Writer, x explained.Read) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	plan := string(x.Plan)
	switch {
	case x.Index != nil && x.Building:
		plan += fmt.Sprintf("; the index %q is being built", console.Printable(*x.Index))
	case x.Index != nil && plan == "index":
		plan += fmt.Sprintf(" %q", console.Printable(*x.Index))
	}
	fmt.Fprintf(t, "plan\t%s\n", plan)
	if x.Looks == nil {
		fmt.Fprintf(t, "children\t%d answered\n", x.Results)
	} else {
		fmt.Fprintf(t, "children\t%d looked at, %d answered\n", x.Visited, x.Results)
		fmt.Fprintf(t, "rows read\t%d\n", x.Rows)
	}
	fmt.Fprintf(t, "answer\t%s\n", console.FormatBytes(int64(x.Bytes)))
	printRules(t, x.Rules)
	switch m := x.MissingIndexOn; {
	case m == nil:
	case len(m.IndexOn) == 0:
		fmt.Fprintf(t, "missing\tan index; add to the data document: %s\n", console.Printable(m.Paste))
	default:
		fmt.Fprintf(t, "missing\tan index; add to the rules: %s\n", console.Printable(m.Paste))
	}
	return t.Flush()
}

// printWriteExplanation prints what a write would take.
func printWriteExplanation(w io.Writer, x explained.Write) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "plan\t%s\n", console.Printable(x.Plan))
	if e := x.Effect; e != nil {
		changes := "nothing"
		if e.Changes {
			changes = "yes"
		}
		fmt.Fprintf(t, "changes\t%s\n", changes)
		fmt.Fprintf(t, "values\t%s\n", console.FormatBytes(int64(e.Bytes)))
	}
	if c := x.Cost; c != nil {
		fmt.Fprintf(t, "rows\t%d read, %d written\n", c.Rows, c.Written)
		fmt.Fprintf(t, "index entries\t%d written\n", c.Entries)
		some := ""
		if c.AtLeast {
			some = "at least "
		}
		fmt.Fprintf(t, "listeners\t%s%d would be told, %s%d would lose their permission\n", some, c.Listeners, some, c.Cancelled)
	}
	printRules(t, x.Rules)
	return t.Flush()
}

// printRules prints a line about the decision of the rules.
func printRules(w io.Writer, r explained.Rules) {
	switch {
	case r.Admin:
		fmt.Fprintf(w, "rules\tdo not apply to an administrator\n")
	case r.By != "":
		fmt.Fprintf(w, "rules\t%d asked, which read %d rows; %s decided\n", r.Evaluated, r.Rows, console.Printable(r.By))
	default:
		fmt.Fprintf(w, "rules\t%d asked\n", r.Evaluated)
	}
}
