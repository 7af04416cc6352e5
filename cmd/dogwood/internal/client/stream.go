package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Servers send something at least every 30 seconds (REST §10.2). A stream that
// is silent for longer than silence is dead.
const silence = 75 * time.Second

var errSilent = fmt.Errorf("no sign of life for %s", silence)

// Stream follows the event stream of a path until it fails or show does. opened is called
// when the server has accepted the request. more says that another event has arrived already.
func (c *Client) Stream(ctx context.Context, path string, query url.Values, opened func(), show func(ev Event, more bool) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alive := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer alive.Stop()
	body, err := c.openStream(ctx, path, query)
	if err != nil {
		return causeOf(ctx, err)
	}
	defer body.Close()
	opened()
	r := bufio.NewReader(&watched{body, alive})
	for {
		ev, err := readEvent(r)
		if err != nil {
			return causeOf(ctx, fmt.Errorf("connection lost: %w", err))
		}
		if err := ev.ends(); err != nil {
			return err
		}
		if err := show(ev, r.Buffered() > 0); err != nil {
			return err
		}
	}
}

func (c *Client) openStream(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	r, err := c.Request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", typeEvents)
	r.Header.Set("Accept-Encoding", "identity") // compression would delay events
	resp, err := c.do(r)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// causeOf returns why ctx ended if it did, else err.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// A watched body resets the timer of its stream with everything that arrives.
type watched struct {
	io.Reader
	alive *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.alive.Reset(silence)
	}
	return n, err
}
