package main

import (
	"fmt"
	"net/http"
)

type setCommand struct {
	Path string `arg:"" help:"Path in the database."`
	dataFlags
	Force bool `short:"f" help:"Do not ask. Only who is at a terminal is asked." env:"-"`
	triggerFlags
	clientFlags
}

func (setCommand) Help() string {
	return `Everything at the path is replaced. On a terminal you are asked first.

Examples:

  dogwood set /rooms/lobby/name '"The lobby"'
  dogwood set /rooms/lobby -d '{"name": "The lobby", "open": true}'
  dogwood set / backup.json --force
  gunzip < backup.json.gz | dogwood set /
  dogwood set /visits '{".sv": {"increment": 1}}'
  dogwood set /.settings/rules rules.json --secret-file dogwood-data/admin-secret`
}

func (c *setCommand) Run(e *env) error {
	db, err := c.client()
	if err != nil {
		return err
	}
	if !c.Force {
		if err := e.confirm(fmt.Sprintf("This replaces everything at %s.", db.place(c.Path))); err != nil {
			return err
		}
	}
	p, err := c.payload(e)
	if err != nil {
		return err
	}
	if err := db.write(e, http.MethodPut, c.Path, c.values(), p); err != nil {
		return err
	}
	e.say("Replaced %s", db.place(c.Path))
	return nil
}
