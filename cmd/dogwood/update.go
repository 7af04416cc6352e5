package main

import (
	"errors"
	"net/http"
)

type updateCommand struct {
	Path string `arg:"" help:"Path in the database."`
	dataFlags
	Force bool `short:"f" hidden:"" help:"Accepted for scripts; update does not ask." env:"-"`
	triggerFlags
	clientFlags
}

func (updateCommand) Help() string {
	return `The data are an object whose keys are paths below the path. All are written or
none; null deletes.

Examples:

  dogwood update /rooms/lobby '{"name": "Lobby", "topic": null}'
  dogwood update / '{"members/lobby/ana": true, "users/ana/rooms/lobby": true}'
  dogwood update /users users.json`
}

func (c *updateCommand) Run(e *env) error {
	db, err := c.client()
	if err != nil {
		return err
	}
	p, err := c.payload(e)
	if err != nil {
		return err
	}
	// null in place of an object would delete the path: firebase database:remove
	// sends that.
	switch ok, err := p.begins('{'); {
	case err != nil:
		return err
	case !ok:
		return errors.New(`update needs an object, such as '{"key": "value"}'`)
	}
	if err := db.write(e, http.MethodPatch, c.Path, c.values(), p); err != nil {
		return err
	}
	e.say("Updated %s", db.place(c.Path))
	return nil
}
