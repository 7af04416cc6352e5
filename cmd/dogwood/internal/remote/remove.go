package remote

import (
	"fmt"
	"net/http"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// Remove deletes a value.
type Remove struct {
	Path  string `arg:"" help:"Path in the database; / is everything."`
	Force bool   `short:"f" help:"Do not ask for confirmation. Only users at a terminal are asked." env:"-"`
	client.TriggerFlags
	client.Flags
}

func (Remove) Help() string {
	return `Deletes everything at the path. On a terminal, it asks first.

Examples:

  dogwood remove /rooms/lobby/topic
  dogwood remove / --force --namespace test`
}

func (c *Remove) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	if !c.Force {
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
