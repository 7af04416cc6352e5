package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"
)

type watchCommand struct {
	Path string `arg:"" optional:"" default:"/" help:"Path in the database; the root if it is not given."`
	Live bool   `help:"Show the whole value: redrawn after each change on a terminal, else as one line of JSON per change."`
	queryFlags
	clientFlags
}

func (watchCommand) Help() string {
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

func (c *watchCommand) Run(e *env) error {
	db, err := c.client()
	if err != nil {
		return err
	}
	q, err := c.values(false)
	if err != nil {
		return err
	}
	w := &watcher{
		client: db,
		path:   c.Path,
		query:  q,
		show:   func(ev event, _ bool) error { return writeEvent(e.stdout, ev) },
		log:    e.stderr,
	}
	if c.Live {
		w.show = newLiveView(e.stdout, db.place(c.Path)).show
	}
	return w.run(e.ctx)
}

// Servers send something at least every 30 seconds (REST §10.2). A stream that
// is silent for longer than silence is dead.
const silence = 75 * time.Second

var errSilent = fmt.Errorf("no sign of life for %s", silence)

// A watcher follows a path for as long as it may.
type watcher struct {
	client *client
	path   string
	query  url.Values
	show   func(ev event, more bool) error // more: another event is there already
	log    io.Writer

	connected bool // once
	pauses    int  // since the last event
}

// run follows the path until ctx ends, which is no error, or until the server
// refuses. Connections that are lost are made again.
func (w *watcher) run(ctx context.Context) error {
	for {
		err := w.follow(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if !w.connected || !isTemporary(err) {
			return err
		}
		pause := w.pause()
		fmt.Fprintf(w.log, "dogwood: %v; reconnecting in %s\n", err, pause.Round(100*time.Millisecond))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// A displayError is a failure to show an event, which no reconnect can mend.
type displayError struct{ error }

func isTemporary(err error) bool {
	if e := (*serverError)(nil); errors.As(err, &e) {
		return e.status >= 500 || e.status == http.StatusTooManyRequests
	}
	ended, display := (*endedError)(nil), displayError{}
	return !errors.As(err, &ended) && !errors.As(err, &display)
}

// pause returns how long to wait before the next attempt: from half a second to
// half a minute, more or less, so that many clients do not come back at once.
func (w *watcher) pause() time.Duration {
	d := min(500*time.Millisecond<<min(w.pauses, 10), 30*time.Second)
	w.pauses++
	return d/2 + rand.N(d/2)
}

// follow shows the events of one connection.
func (w *watcher) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alive := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer alive.Stop()
	body, err := w.connect(ctx)
	if err != nil {
		return causeOf(ctx, err)
	}
	defer body.Close()
	w.connected = true
	r := bufio.NewReader(&watched{body, alive})
	for {
		ev, err := readEvent(r)
		if err != nil {
			return causeOf(ctx, fmt.Errorf("connection lost: %w", err))
		}
		w.pauses = 0
		if err := ev.ends(); err != nil {
			return err
		}
		if ev.name == "keep-alive" {
			continue
		}
		if err := w.show(ev, r.Buffered() > 0); err != nil {
			return displayError{err}
		}
	}
}

// causeOf returns why ctx ended if it did, else err.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (w *watcher) connect(ctx context.Context) (io.ReadCloser, error) {
	r, err := w.client.request(ctx, http.MethodGet, w.path, w.query, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", typeEvents)
	r.Header.Set("Accept-Encoding", "identity") // compression would hold events back
	resp, err := w.client.do(r)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// watched puts off the end of a stream with everything that arrives.
type watched struct {
	r     io.Reader
	alive *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.alive.Reset(silence)
	}
	return n, err
}
