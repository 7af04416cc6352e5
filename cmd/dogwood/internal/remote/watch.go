package remote

import (
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// Watch follows a value.
type Watch struct {
	Path string `arg:"" optional:"" default:"/" help:"Path in the database; the root if it is not given."`
	Live bool   `help:"Show the whole value: redrawn after each change on a terminal, else as one line of JSON per change."`
	client.QueryFlags
	client.Flags
}

func (Watch) Help() string {
	return `Prints one line of JSON per change, the first with the value as it is now:

  {"event":"put","path":"/","data":{"name":"The lobby"}}
  {"event":"patch","path":"/","data":{"open":true}}

put replaces what is at the path, which is relative to the one you watch; patch
replaces the given children. After a lost connection it reconnects and prints
the whole value again. End it with Ctrl-C.

Examples:

  dogwood watch /rooms/lobby
  dogwood watch /messages/lobby --order-by-key --limit-to-last 10 --live
  dogwood watch /jobs | jq -c 'select(.event == "put")'`
}

func (c *Watch) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	q, err := c.Values(false)
	if err != nil {
		return err
	}
	w := &client.Watcher{
		Client: db,
		Path:   c.Path,
		Query:  q,
		Show:   func(ev client.Event, _ bool) error { return client.WriteEvent(e.Stdout, ev) },
		Log:    e.Stderr,
	}
	if c.Live {
		v := newLiveView(e.Stdout, db.Place(c.Path))
		w.Show, w.Settle = v.show, v.settle
	}
	return w.Run(e.Ctx)
}
