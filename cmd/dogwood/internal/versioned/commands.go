package versioned

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/sync/versions"
)

// HistoryFlags are those of a command that lists the versions that a server has kept, or
// prints one.
type HistoryFlags struct {
	Version int64 `arg:"" optional:"" help:"Version to print; without it, they are listed."`
	JSON    bool  `name:"json" help:"List as JSON."`
	client.Flags
}

// List runs the command.
func (c *HistoryFlags) List(e *console.Env, t Text) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	if c.Version != 0 || c.JSON {
		return t.Print(e, db, c.Version, e.Stdout)
	}
	list, err := t.Versions(e.Ctx, db)
	if err != nil {
		return err
	}
	return printHistory(e.Stdout, list)
}

// Print prints a version as it was uploaded, or the list of all for 0.
func (t Text) Print(e *console.Env, db *client.Client, version int64, w io.Writer) error {
	place := t.Place + "/versions"
	if version != 0 {
		place = fmt.Sprintf("%s/%d", place, version)
	}
	r, err := db.Request(e.Ctx, http.MethodGet, place, nil, nil)
	if err != nil {
		return err
	}
	return t.missing(e.Ctx, db, version, db.Call(r, w))
}

// printHistory prints a line for each version, the newest first.
func printHistory(w io.Writer, list []versions.Version) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for i, v := range list {
		notes := []string{}
		if i == 0 {
			notes = append(notes, "in force")
		}
		if v.Restore != 0 {
			notes = append(notes, fmt.Sprintf("version %d again", v.Restore))
		}
		if v.Dialect == "wilddog" {
			notes = append(notes, "wilddog")
		}
		if v.Comment != "" {
			notes = append(notes, console.Printable(v.Comment))
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%d bytes\t%s\n", v.Number, v.Time.Local().Format(time.DateTime), console.Printable(v.Author), v.Size, strings.Join(notes, "; "))
	}
	return t.Flush()
}

// RollbackFlags are those of a command that puts an earlier version in force. It becomes a
// new version, so a rollback can be undone by another one.
type RollbackFlags struct {
	Version int64  `arg:"" optional:"" help:"Version to put in force again; the one before that in force if it is not given."`
	To      int64  `xor:"version" help:"The same, as a flag." placeholder:"VERSION"`
	Comment string `short:"m" help:"Text to keep with the version." placeholder:"TEXT"`
	client.Flags
}

// Find returns the client of the server, and the version that is to be in force.
func (c *RollbackFlags) Find(e *console.Env, t Text) (db *client.Client, to int64, err error) {
	if db, err = c.Client(); err == nil {
		to, err = c.version(e, db, t)
	}
	return db, to, err
}

// Restore puts a version in force again, if what is in force has the tag, or tag is "".
func (c *RollbackFlags) Restore(e *console.Env, db *client.Client, t Text, to int64, tag string) error {
	body, err := json.Marshal(map[string]any{"version": to, "comment": c.Comment})
	if err != nil {
		return err
	}
	r, err := db.Request(e.Ctx, http.MethodPost, t.Place+"/rollback", nil, client.NewPayload(string(body)))
	if err != nil {
		return err
	}
	if tag != "" {
		r.Header.Set("If-Match", tag)
	}
	var made struct{ Version int64 }
	if err := t.missing(e.Ctx, db, to, db.Read(r, "answer of the server", &made)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Stdout, "The %s of version %d %s in force again%s, as version %d.\n", t.Name, to, t.Is, InDatabase(db), made.Version)
	return err
}

// version returns the version that is to be in force.
func (c *RollbackFlags) version(e *console.Env, db *client.Client, t Text) (int64, error) {
	if c.Version != 0 && c.To != 0 {
		return 0, console.Unusable(errors.New("the version is given twice: as an argument and with --to"))
	}
	if to := cmp.Or(c.Version, c.To); to != 0 {
		return to, nil
	}
	list, err := t.Versions(e.Ctx, db)
	if err != nil {
		return 0, err
	}
	if len(list) < 2 {
		return 0, fmt.Errorf("there is no earlier version of the %s", t.Name)
	}
	return list[1].Number, nil
}
