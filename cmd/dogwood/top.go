package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/dogwooddb/dogwood/server"
)

type topCommand struct {
	Server string `arg:"" optional:"" help:"Address of the server; --url is another way to give it." placeholder:"URL"`
	Once   bool   `help:"Show one second and end."`
	JSON   bool   `name:"json" help:"Print each second as a line of JSON."`
	clientFlags
}

func (topCommand) Help() string {
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

func (c *topCommand) Run(e *env) error {
	if c.Server != "" {
		c.URL = c.Server
	}
	db, err := c.client()
	if err != nil {
		return err
	}
	show := func(_ []byte, v server.Top) error { return writeTopLines(e.stdout, v) }
	switch {
	case c.JSON:
		show = func(line []byte, _ server.Top) error { return writeLine(e.stdout, line) }
	case isTerminal(e.stdout) && !c.Once:
		show = func(_ []byte, v server.Top) error { return drawTop(canvas(e.stdout), db.place("/"), v) }
	}
	err = followTop(e.ctx, db, func(line []byte, v server.Top) error {
		if v.Interval == 0 { // the first one says nothing about how it is now
			return nil
		}
		if err := show(line, v); err != nil || !c.Once {
			return err
		}
		return errShown
	})
	if errors.Is(err, errShown) || e.ctx.Err() != nil {
		return nil
	}
	return err
}

// errShown ends a feed of which enough was seen.
var errShown = errors.New("shown")

// followTop calls show with what the server tells each second, until it fails.
func followTop(ctx context.Context, db *client, show func(line []byte, v server.Top) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alive := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer alive.Stop()
	r, err := db.request(ctx, http.MethodGet, "/.inspect/top", nil, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", typeEvents)
	resp, err := db.do(r)
	if err != nil {
		return causeOf(ctx, err)
	}
	defer resp.Body.Close()
	events := bufio.NewReader(&watched{resp.Body, alive})
	for {
		ev, err := readEvent(events)
		if err != nil {
			return causeOf(ctx, fmt.Errorf("connection lost: %w", err))
		}
		if err := ev.ends(); err != nil {
			return err
		}
		if ev.name != "top" {
			continue
		}
		var v server.Top
		if err := json.Unmarshal(ev.data, &v); err != nil {
			return fmt.Errorf("what the server tells: %w", err)
		}
		if err := show(ev.data, v); err != nil {
			return err
		}
	}
}

func writeLine(w io.Writer, line []byte) error {
	_, err := w.Write(append(line, '\n'))
	return err
}
