package remote

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// Set replaces a value.
type Set struct {
	Path string `arg:"" help:"Path in the database."`
	client.DataFlags
	console.Sure
	client.TriggerFlags
	client.Flags
}

func (Set) Help() string {
	return `Replaces everything at the path. On a terminal, it asks first; elsewhere, null at / needs --yes.

Examples:

  dogwood set /rooms/lobby/name '"The lobby"'
  dogwood set /rooms/lobby -d '{"name": "The lobby", "open": true}'
  dogwood set / backup.json --yes
  gunzip < backup.json.gz | dogwood set /
  dogwood set /visits '{".sv": {"increment": 1}}'
  dogwood set /.settings/rules rules.json --secret-file dogwood-data/admin-secret`
}

func (c *Set) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	if !c.IsSure() {
		deletes := c.Source == "null" || c.Data != nil && strings.TrimSpace(*c.Data) == "null"
		if deletes && isRoot(c.Path) && !console.IsTerminal(e.Stdin) {
			return ErrNeedsYes
		}
		if err := e.Confirm(fmt.Sprintf("This replaces everything at %s.", db.Place(c.Path))); err != nil {
			return err
		}
	}
	p, err := c.Payload(e)
	if err != nil {
		return err
	}
	if err := db.Write(e, http.MethodPut, c.Path, c.Values(), p); err != nil {
		return err
	}
	e.Say("Replaced %s", db.Place(c.Path))
	return nil
}
