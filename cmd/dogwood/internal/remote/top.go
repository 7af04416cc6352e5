package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/server/observe"
)

// Top shows the work of a server.
//
// It shows what the server sends each second and computes nothing itself, so
// programs that read the feed see the same figures.
type Top struct {
	Server string `arg:"" optional:"" help:"Address of the server; --url is another way to give it." placeholder:"URL"`
	Once   bool   `help:"Show one second and end."`
	JSON   bool   `name:"json" help:"Print each second as a line of JSON."`
	client.Flags
}

func (Top) Help() string {
	return `Shows what a server does, second by second: its connections and listens, reads and
writes, how long commits take, the clients that do not read what they listen to, and
the paths with the most operations. In paths, * stands for keys that are push ids or
numbers.

On a terminal it is drawn in place; else there are lines for each second. It needs
the credential of an administrator of the whole server. End it with Ctrl-C.

Examples:

  dogwood top --owner
  dogwood top https://db.example.org --secret-file data/admin-secret
  dogwood top --once --json | jq .commit.p99`
}

func (c *Top) Run(e *console.Env) error {
	if c.Server != "" {
		c.URL = c.Server
	}
	db, err := c.Client()
	if err != nil {
		return err
	}
	show := func(_ []byte, v observe.Top) error { return writeTopLines(e.Stdout, v) }
	switch {
	case c.JSON:
		show = func(line []byte, _ observe.Top) error { return writeLine(e.Stdout, line) }
	case console.IsTerminal(e.Stdout) && !c.Once:
		show = func(_ []byte, v observe.Top) error { return drawTop(console.Canvas(e.Stdout), db.Place("/"), v) }
	}
	err = followTop(e.Ctx, db, func(line []byte, v observe.Top) error {
		if v.Interval == 0 { // the first one says nothing about how it is now
			return nil
		}
		if err := show(line, v); err != nil || !c.Once {
			return err
		}
		return errShown
	})
	if errors.Is(err, errShown) || e.Ctx.Err() != nil {
		return nil
	}
	return err
}

// errShown ends a feed when enough is shown.
var errShown = errors.New("shown")

// followTop calls show with the figures of each second until it or the server fails.
func followTop(ctx context.Context, db *client.Client, show func(line []byte, v observe.Top) error) error {
	return db.Stream(ctx, "/.inspect/top", nil, func() {}, func(ev client.Event, _ bool) error {
		if ev.Name != "top" {
			return nil
		}
		var v observe.Top
		if err := json.Unmarshal(ev.Data, &v); err != nil {
			return fmt.Errorf("read the figures of the server: %w", err)
		}
		return show(ev.Data, v)
	})
}

func writeLine(w io.Writer, line []byte) error {
	_, err := w.Write(append(line, '\n'))
	return err
}
