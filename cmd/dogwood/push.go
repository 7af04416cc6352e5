package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

type pushCommand struct {
	Path string `arg:"" help:"Path in the database."`
	dataFlags
	triggerFlags
	clientFlags
}

func (pushCommand) Help() string {
	return `The key of the new child is printed. Keys ascend with time.

Examples:

  dogwood push /messages/lobby '{"text": "hello", "sentAt": {".sv": "timestamp"}}'
  key=$(dogwood push /messages/lobby message.json)
  date | jq -R . | dogwood push /log`
}

func (c *pushCommand) Run(e *env) error {
	db, err := c.client()
	if err != nil {
		return err
	}
	p, err := c.payload(e)
	if err != nil {
		return err
	}
	r, err := db.request(e.ctx, http.MethodPost, c.Path, c.values(), p)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := db.call(r, &text); err != nil {
		return err
	}
	var answer struct{ Name string }
	if json.Unmarshal([]byte(text.String()), &answer) != nil || answer.Name == "" {
		return errors.New("the server did not say which key it made")
	}
	_, err = fmt.Fprintln(e.stdout, answer.Name)
	return err
}
