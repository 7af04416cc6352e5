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
	place := t.Place + "/versions"
	if c.Version != 0 {
		place = fmt.Sprintf("%s/%d", place, c.Version)
	}
	if c.Version != 0 || c.JSON {
		r, err := db.Request(e.Ctx, http.MethodGet, place, nil, nil)
		if err != nil {
			return err
		}
		return t.missing(e.Ctx, db, c.Version, db.Call(r, e.Stdout))
	}
	list, err := t.Versions(e.Ctx, db)
	if err != nil {
		return err
	}
	return printHistory(e.Stdout, list)
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

// Rollback runs the command, and returns the client of the server.
func (c *RollbackFlags) Rollback(e *console.Env, t Text) (*client.Client, error) {
	db, err := c.Client()
	if err != nil {
		return nil, err
	}
	to, err := c.version(e, db, t)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"version": to, "comment": c.Comment})
	if err != nil {
		return nil, err
	}
	r, err := db.Request(e.Ctx, http.MethodPost, t.Place+"/rollback", nil, client.NewPayload(string(body)))
	if err != nil {
		return nil, err
	}
	var made struct{ Version int64 }
	if err := t.missing(e.Ctx, db, to, db.Read(r, "answer of the server", &made)); err != nil {
		return nil, err
	}
	fmt.Fprintf(e.Stdout, "The %s of version %d %s in force again%s, as version %d.\n", t.Name, to, t.Is, InDatabase(db), made.Version)
	return db, nil
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
