package dogwood

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// maxRefused is how many credentials in a row may be refused before the client
// waits between attempts.
const maxRefused = 3

// run keeps the client connected until it ends. It tells first how the first
// attempt went.
func (c *Client) run(first chan<- error) {
	defer close(c.ended)
	outage := time.Now() // when it began
	defer time.AfterFunc(warnAfter, c.warnLate).Stop()
	for hasty := 0; ; {
		if !c.mayConnect() {
			return
		}
		began := time.Now()
		ready, err := c.connect(first)
		c.options.Log.Debug("disconnected", "ready", ready, "err", err)
		again := errors.Is(err, errMoved) || errors.Is(err, errExpired) || errors.Is(err, ErrUnauthorized)
		if hasty++; ready && time.Since(began) >= healthyAfter {
			outage, hasty = time.Now(), 0
		} else if ready {
			outage = outage.Add(time.Since(began)) // the time connected is none
		}
		c.failed(err)
		if again && hasty < maxRefused {
			continue
		}
		tellFirst(first, err)
		if !c.pause(c.backoff(time.Since(outage))) {
			return
		}
	}
}

// backoff returns how long to wait before the next attempt: at most half of the outage so
// far, and MinBackoff. It is random, so that the clients of a server do not come back at
// once. It grows with the outage and not with the number of attempts, so a short one is
// over soon however often it was tried.
func (c *Client) backoff(outage time.Duration) time.Duration {
	longest := min(c.options.MinBackoff+outage/2, c.options.MaxBackoff)
	return longest/2 + rand.N(longest/2+1)
}

// warnAfter is how long the first connection may take before there is a warning.
const warnAfter = 5 * time.Second

func (c *Client) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = err
}

// warnLate says that there is no first connection yet, and why.
func (c *Client) warnLate() {
	c.mu.Lock()
	quiet, err := c.met || c.offline || c.err != nil, c.failure
	c.mu.Unlock()
	if quiet {
		return
	}
	if err == nil {
		err = errors.New("no answer yet")
	}
	args := []any{"err", err}
	if n, ok := c.transport.(*network); ok {
		args = append(args, "address", n.host)
	}
	c.options.Log.Warn("no connection yet", args...)
}

// tellFirst says how the first attempt went, if a caller waits for it.
func tellFirst(first chan<- error, err error) {
	select {
	case first <- err:
	default:
	}
}

// mayConnect waits while the client is offline. It reports whether it may go
// on.
func (c *Client) mayConnect() bool {
	for {
		c.mu.Lock()
		offline := c.offline
		c.mu.Unlock()
		if !offline {
			return c.ctx.Err() == nil
		}
		select {
		case <-c.wake:
		case <-c.ctx.Done():
			return false
		}
	}
}

// pause waits before the next attempt.
func (c *Client) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.wake:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// connect makes a connection and stays until it is lost. ready says whether it
// was ever of use.
func (c *Client) connect(first chan<- error) (ready bool, err error) {
	credential, err := c.sign()
	if err != nil {
		return false, failed("token", "", err)
	}
	ctx, cancel := context.WithTimeout(c.ctx, handshakeTimeout)
	defer cancel()
	dialed := c.options.Now()
	conn, err := c.transport.Connect(ctx, Handshake{LastSession: c.session, Host: c.host})
	c.host = ""
	if err != nil {
		return false, failed("connect", "", err)
	}
	l := newLink(conn, func(l *link) { sendOn(c, l) })
	l.dialed = dialed
	defer c.lost(l)
	stop := context.AfterFunc(ctx, l.close)
	if err = c.greet(l, credential); err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		return false, failed("connect", "", c.serverEnd(err))
	}
	defer context.AfterFunc(c.ctx, l.close)()
	if !c.ready(l) {
		return false, ErrDisconnected
	}
	tellFirst(first, nil)
	for {
		m, err := l.receive()
		switch {
		case err == nil:
			err = c.handle(m)
		case errors.Is(err, ErrTooBig):
			c.giveUp(err)
		}
		if err != nil {
			return true, c.serverEnd(err)
		}
	}
}

// sign asks for the credential to sign in with.
func (c *Client) sign() (string, error) {
	if c.options.Token == nil {
		return "", nil
	}
	credential, err := c.options.Token.ask(c.ctx, c.refresh)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.credential = credential
	c.states.tell()
	c.mu.Unlock()
	return credential, nil
}

// A shutdownError is the server's word that the client should never come back.
type shutdownError struct{ reason string }

func (e *shutdownError) Error() string { return e.reason }

// serverEnd ends the client if that is what the server wants.
func (c *Client) serverEnd(err error) error {
	var s *shutdownError
	if errors.As(err, &s) {
		err = c.sentAway(s.reason)
		c.end(err)
	}
	return err
}

// sentAway returns the error for a client that the server does not want back. It is
// ErrShutdown in any case.
func (c *Client) sentAway(reason string) error {
	e := &Error{Op: "connect", Text: reason, cause: ErrShutdown}
	if reason != wire.TextNoInstance {
		return e
	}
	e.Text, e.cause = "", errMissing
	if n, ok := c.transport.(interface{ missing() string }); ok {
		e.Text = n.missing()
	}
	return e
}

// errMissing is ErrNoDatabase for a client that has ended.
var errMissing error = missingError{}

type missingError struct{}

func (missingError) Error() string   { return ErrNoDatabase.Error() }
func (missingError) Unwrap() []error { return []error{ErrNoDatabase, ErrShutdown} }

// greet takes the server's hello and signs in.
func (c *Client) greet(l *link, credential string) error {
	m, err := l.receive()
	if err != nil {
		return err
	}
	if err := c.control(m); err != nil {
		return err
	}
	if m.Control != wire.ControlHello {
		return fmt.Errorf("%w: the server did not say hello", ErrUnavailable)
	}
	if err := c.hello(l, m.Data); err != nil || credential == "" {
		return err
	}
	c.mu.Lock()
	c.lastID++
	id := c.lastID
	c.mu.Unlock()
	l.send(wire.AppendAuth(nil, id, authAction(credential), credential))
	return c.signedIn(l, id)
}

// hello takes in the server's clock, the name of the session, and what the
// server can do beyond the protocol.
func (c *Client) hello(l *link, data []byte) error {
	var hello struct {
		Time     float64  `json:"ts"`
		Session  string   `json:"s"`
		Features []string `json:"f"`
	}
	if err := json.Unmarshal(data, &hello); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	c.session = hello.Session
	l.features = hello.Features
	l.knowsWrites = l.has(wire.FeatureWriteIDs)
	offset := clockOffset(time.UnixMilli(int64(hello.Time)), l.dialed, c.options.Now())
	c.mu.Lock()
	c.offset = offset
	c.mu.Unlock()
	return nil
}

// clockOffset returns by how much the server's clock is ahead, by a time that the server has
// sent between two moments of the local clock. Clocks that may agree do: a hello that is read
// late says nothing about the clocks, and Push must not make keys that sort before those that
// the server made earlier.
func clockOffset(server, from, to time.Time) time.Duration {
	return max(server.Sub(to), min(0, server.Sub(from.Truncate(time.Millisecond))))
}

// signedIn waits for the answer to the credential. Nothing else is sent before:
// it would be refused if the credential is.
func (c *Client) signedIn(l *link, id int64) error {
	for {
		m, err := l.receive()
		if err != nil {
			return err
		}
		if err := c.control(m); err != nil {
			return err
		}
		switch {
		case m.Status == "" || m.ID != id:
		case m.Status == wire.StatusOK:
			c.refresh = false
			return nil
		default:
			c.refresh = true
			return refusal("sign in", "", m)
		}
	}
}

// control takes a control message. Errors end the connection.
func (c *Client) control(m wire.ServerMessage) error {
	switch m.Control {
	case wire.ControlReset:
		c.host = textOf(m.Data)
		return errMoved
	case wire.ControlShutdown:
		return &shutdownError{textOf(m.Data)}
	case wire.ControlError:
		c.options.Log.Warn("the server reports an error", "text", textOf(m.Data))
	}
	return nil
}

// ready begins to use a connection: all that is followed and all that was not
// answered is sent, in the order of protocol §11.
func (c *Client) ready(l *link) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.offline || c.err != nil {
		return false
	}
	c.met = true
	c.link, c.asked, l.used = l, make(map[int64]asked), true
	for _, s := range c.replica.Sources() {
		c.listen(s)
	}
	for _, f := range slices.Collect(maps.Values(c.changing)) {
		f.listen()
	}
	c.sendAll()
	c.states.set(true)
	return true
}

// lost ends a connection. Requests without an answer are sent again or fail, so none of
// them may still be on its way to the old connection.
func (c *Client) lost(l *link) {
	l.close()
	l.wait()
	now := c.options.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !l.used {
		return
	}
	c.link = nil
	c.states.set(false)
	requests := c.requests
	c.requests = nil
	for _, r := range requests {
		if again := r.lost(); again {
			c.requests = append(c.requests, r)
		}
	}
	c.replica.Forced(c.runLeftovers(now.Add(c.offset)))
}
