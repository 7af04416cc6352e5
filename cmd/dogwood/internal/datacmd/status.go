package datacmd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/versioned"
)

// statusCommand shows the state of each definition.
type statusCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
	client.Flags
}

func (statusCommand) Help() string {
	return `Prints a line for each definition: its state, and how many nodes the state has come to; of
an index, its entries, their bytes, and when a query last read it. Not more than 100,000
entries are counted. Below it are indexes that were not read for 30 days, at most 5 conflicts of each
definition, which are places that hold something else than follows, and nodes that do not match because an
expression failed. The exit code is 1 if a definition
has failed, or if the server refuses the document, which an earlier version has accepted.

Examples:

  dogwood data status --secret-file dogwood-data/admin-secret
  dogwood data status --json`
}

// A status is that of one definition, as a server tells it (REST §12.7).
type status struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	State     string   `json:"state"`
	Nodes     int64    `json:"nodes"`
	At        string   `json:"at"`
	Conflicts []string `json:"conflicts"`
	Total     int      `json:"conflictsTotal"`
	Skipped   []string `json:"skipped"`
	Error     string   `json:"error"`

	Entries     int   `json:"entries"` // of an index
	EntryBytes  int64 `json:"entryBytes"`
	MoreEntries bool  `json:"moreEntries"`
	LastRead    int64 `json:"lastRead"`
	Since       int64 `json:"since"`
	Unused      bool  `json:"unused"`
}

const (
	statusPlace = "/.settings/data/status"
	statusName  = "status of the data document"
)

func (c *statusCommand) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	if c.JSON {
		return c.printJSON(e, db)
	}
	list, err := statusOf(e, db)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return c.printNone(e, db)
	}
	if err := printStatus(e.Stdout, list); err != nil {
		return err
	}
	return failures(list)
}

// printNone says why there are no definitions.
func (c *statusCommand) printNone(e *console.Env, db *client.Client) error {
	_, tag, err := inForce(e, db)
	if err != nil {
		return err
	}
	text := "The data document in force has no definitions"
	if tag == "" {
		text = "No data document is in force"
	}
	_, err = fmt.Fprintf(e.Stdout, "%s%s.\n", text, versioned.InDatabase(db))
	return err
}

// printJSON prints the answer of the server as it is.
func (c *statusCommand) printJSON(e *console.Env, db *client.Client) error {
	r, err := db.Request(e.Ctx, http.MethodGet, statusPlace, nil, nil)
	if err != nil {
		return err
	}
	var text json.RawMessage
	if err := db.Read(r, statusName, &text); err != nil {
		return err
	}
	if err := console.PrintTo(e.Stdout, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	var list []status
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("%s: %w", statusName, err)
	}
	return failures(list)
}

// failures is the error that some definitions have failed, nil if none has.
func failures(list []status) error {
	failed := 0
	for _, s := range list {
		if s.State == "refused" {
			return console.Failed("the version of Dogwood that runs refuses the data document: no definition is in force, and writes to what they are about are refused. Deploy another document, roll back to an earlier one, or run the version that accepted it")
		}
		if s.State == "failed" {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	return console.Failed("failed: %d of %s; such a definition is not in force. Mend what is in the way and resume it", failed, console.Count(len(list), "definition"))
}

// statusOf asks a server how far the definitions are.
func statusOf(e *console.Env, db *client.Client) (list []status, err error) {
	r, err := db.Request(e.Ctx, http.MethodGet, statusPlace, nil, nil)
	if err != nil {
		return nil, err
	}
	return list, db.Read(r, statusName, &list)
}

func printStatus(w io.Writer, list []status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", s.Name, console.Printable(s.Kind), console.Printable(s.State), s.progress())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range list {
		if err := s.printTroubles(w); err != nil {
			return err
		}
	}
	return nil
}

// progress says how many nodes the state has come to, and of an index how many entries it has.
func (s *status) progress() string {
	text := console.Count(int(s.Nodes), "node")
	if s.Kind == "index" {
		more := ""
		if s.MoreEntries {
			more = "more than "
		}
		text = fmt.Sprintf("entries: %s%d, %s", more, s.Entries, console.FormatBytes(s.EntryBytes))
		switch at := time.UnixMilli(max(s.LastRead, s.Since)).UTC().Format(time.RFC3339); {
		case s.LastRead > 0:
			text += ", last read " + at
		case s.Since > 0:
			text += ", not read since " + at
		}
	}
	if s.At != "" {
		text += ", up to " + console.Printable(s.At)
	}
	return text
}

// maxShown is how many conflicts of a definition are printed.
const maxShown = 5

// printTroubles prints why a definition has failed, and the nodes that it passes over.
func (s *status) printTroubles(w io.Writer) error {
	var lines []string
	if s.Error != "" {
		lines = append(lines, s.Error)
	}
	if s.Unused {
		lines = append(lines, `unused for 30 days; writes pay for it, and "state": "off" frees its room`)
	}
	shown := s.Conflicts[:min(len(s.Conflicts), maxShown)]
	for _, c := range shown {
		lines = append(lines, "conflict: "+c)
	}
	if more := s.Total - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("and %s; --json has the first 100", console.Count(more, "more conflict")))
	}
	for _, p := range s.Skipped {
		lines = append(lines, "passed over: "+p)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintf(w, "%s: %s\n", s.Name, console.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}
