package remote

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// Remove deletes a value.
type Remove struct {
	Path string `arg:"" help:"Path in the database; / is everything."`
	console.Sure
	client.TriggerFlags
	client.Flags
}

func (Remove) Help() string {
	return `Deletes everything at the path. On a terminal, it asks first. Elsewhere, the whole
database is deleted only with --yes.

Examples:

  dogwood remove /rooms/lobby/topic
  dogwood remove / --yes --namespace test`
}

// ErrNeedsYes refuses to delete a whole database without a terminal for the question.
var ErrNeedsYes = errors.New("this deletes the whole database; say --yes if that is meant")

// isRoot reports whether a path is that of the whole database.
func isRoot(path string) bool { return strings.Trim(path, "/") == "" }

func (c *Remove) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	if !c.IsSure() {
		if isRoot(c.Path) && !console.IsTerminal(e.Stdin) {
			return ErrNeedsYes
		}
		if err := e.Confirm(fmt.Sprintf("This deletes everything at %s.", db.Place(c.Path))); err != nil {
			return err
		}
	}
	if err := db.Write(e, http.MethodDelete, c.Path, c.Values(), nil); err != nil {
		return err
	}
	e.Say("Deleted %s", db.Place(c.Path))
	return nil
}
