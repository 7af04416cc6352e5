package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// Push adds a child.
type Push struct {
	Path string `arg:"" help:"Path in the database."`
	client.DataFlags
	client.TriggerFlags
	client.Flags
}

func (Push) Help() string {
	return `Prints the key of the new child. Keys ascend with time.

Examples:

  dogwood push /messages/lobby '{"text": "hello", "sentAt": {".sv": "timestamp"}}'
  key=$(dogwood push /messages/lobby message.json)
  date | jq -R . | dogwood push /log`
}

func (c *Push) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	p, err := c.Payload(e)
	if err != nil {
		return err
	}
	r, err := db.Request(e.Ctx, http.MethodPost, c.Path, c.Values(), p)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := db.CallWrite(e, r, &text); err != nil {
		return err
	}
	var answer struct{ Name string }
	if err := json.Unmarshal(text.Bytes(), &answer); err != nil {
		return fmt.Errorf("key of the child: %w", err)
	}
	if answer.Name == "" {
		return errors.New("the server did not say which key it made")
	}
	_, err = fmt.Fprintln(e.Stdout, answer.Name)
	return err
}
