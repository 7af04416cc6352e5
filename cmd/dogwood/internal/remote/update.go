package remote

import (
	"errors"
	"net/http"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// Update writes several values at once.
type Update struct {
	Path string `arg:"" help:"Path in the database."`
	client.DataFlags
	Force bool `short:"f" aliases:"yes" hidden:"" help:"Accepted for scripts; update does not ask." env:"-"`
	client.TriggerFlags
	client.Flags
}

func (Update) Help() string {
	return `The data are an object whose keys are paths below the path. Either all are written or
none; null deletes.

Examples:

  dogwood update /rooms/lobby '{"name": "Lobby", "topic": null}'
  dogwood update / '{"members/lobby/ana": true, "users/ana/rooms/lobby": true}'
  dogwood update /users users.json`
}

func (c *Update) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	p, err := c.Payload(e)
	if err != nil {
		return err
	}
	// null in place of an object would delete the path: firebase database:remove
	// sends that.
	switch ok, err := p.Begins('{'); {
	case err != nil:
		return err
	case !ok:
		return errors.New(`update needs an object, such as '{"key": "value"}'`)
	}
	if err := db.Write(e, http.MethodPatch, c.Path, c.Values(), p); err != nil {
		return err
	}
	e.Say("Updated %s", db.Place(c.Path))
	return nil
}
