package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"
)

// A Watcher follows a path for as long as it may.
type Watcher struct {
	Client *Client
	Path   string
	Query  url.Values
	Show   func(ev Event, more bool) error // more: Show or Settle is called again soon
	Settle func() error                    // nil: not needed. After more, if no event to be shown came
	Log    io.Writer

	connected bool // once
	pauses    int  // since the last event
}

// Run follows the path until ctx ends, which is no error, or until the server
// refuses. Connections that are lost are made again.
func (w *Watcher) Run(ctx context.Context) error {
	for {
		err := w.follow(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if !w.connected || !isTemporary(err) {
			return err
		}
		pause := w.pause()
		fmt.Fprintf(w.Log, "dogwood: %v; reconnecting in %s\n", err, pause.Round(100*time.Millisecond))
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
	if e := (*ServerError)(nil); errors.As(err, &e) {
		return e.Status >= 500 || e.Status == http.StatusTooManyRequests
	}
	ended, display := (*endedError)(nil), displayError{}
	return !errors.As(err, &ended) && !errors.As(err, &display)
}

// pause returns how long to wait before the next attempt: from half a second to
// half a minute, more or less, so that many clients do not come back at once.
func (w *Watcher) pause() time.Duration {
	d := min(500*time.Millisecond<<min(w.pauses, 10), 30*time.Second)
	w.pauses++
	return d/2 + rand.N(d/2)
}

// follow shows the events of one connection.
func (w *Watcher) follow(ctx context.Context) error {
	opened := func() { w.connected = true }
	expected := false
	settle := func() error {
		if !expected || w.Settle == nil {
			return nil
		}
		expected = false
		return display(w.Settle())
	}
	err := w.Client.Stream(ctx, w.Path, w.Query, opened, func(ev Event, more bool) error {
		w.pauses = 0
		if ev.Name == "keep-alive" {
			return settle()
		}
		expected = more
		return display(w.Show(ev, more))
	})
	return cmp.Or(settle(), err)
}

func display(err error) error {
	if err != nil {
		return displayError{err}
	}
	return nil
}
