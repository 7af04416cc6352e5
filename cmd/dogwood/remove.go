package main

import (
	"fmt"
	"net/http"
)

type removeCommand struct {
	Path  string `arg:"" help:"Path in the database; / is everything."`
	Force bool   `short:"f" help:"Do not ask. Only who is at a terminal is asked." env:"-"`
	triggerFlags
	clientFlags
}

func (removeCommand) Help() string {
	return `Everything at the path is deleted. On a terminal you are asked first.

Examples:

  dogwood remove /rooms/lobby/topic
  dogwood remove / --force --namespace test`
}

func (c *removeCommand) Run(e *env) error {
	db, err := c.client()
	if err != nil {
		return err
	}
	if !c.Force {
		if err := e.confirm(fmt.Sprintf("This deletes everything at %s.", db.place(c.Path))); err != nil {
			return err
		}
	}
	if err := db.write(e, http.MethodDelete, c.Path, c.values(), nil); err != nil {
		return err
	}
	e.say("Deleted %s", db.place(c.Path))
	return nil
}
