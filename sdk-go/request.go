package dogwood

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// A request is an operation that the server has not answered.
//
// Three questions decide what happens to it when the connection is lost before
// the answer. One that was not sent is sent on the next connection. One that
// repeats without harm is sent again. A write is sent again only to a server
// that recognizes it by its number; otherwise its outcome stays unknown, and
// the caller is told so.
type request struct {
	op, path string
	encode   func(dst []byte, id int64) []byte

	// Whether it can be sent again when the connection is lost before the answer,
	// even to a server that does not know it again.
	repeats bool

	// Whether it changes nothing, so that it can be given up at any time.
	harmless bool

	// Whether it is a write that must not be carried out twice.
	isWrite bool

	// The extensions that the request needs, by their letters in a server's hello; "" for none.
	feature string

	// answered is called with the client's lock held when the server has answered
	// that it went well. It may be nil.
	answered func(m wire.ServerMessage)

	// settle is called once, with the client's lock held, when it is known how the
	// request went. It may be nil.
	settle func(m wire.ServerMessage, err error)

	id     int64 // that it was sent with on this connection; 0: not sent
	write  int64 // of a write: its number, by which a server knows it again
	sent   bool  // on this connection or an earlier one
	marked bool  // when it was last sent, it was with the number
	done   chan struct{}
	err    error
}

// submit queues a request, if the client has room for it, and waits for the
// answer. prepare is called first, with the client's lock held and the server's time; an
// error of it ends the request.
func (c *Client) submit(ctx context.Context, r *request, prepare func(now time.Time) error) error {
	if err := c.begin(ctx, r, prepare); err != nil {
		return failed(r.op, r.path, err)
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if err := c.late(ctx); !c.takeBack(r, err) {
			return failed(r.op, r.path, err)
		}
	}
	return failed(r.op, r.path, r.err)
}

// begin takes a slot, which finish gives back.
func (c *Client) begin(ctx context.Context, r *request, prepare func(now time.Time) error) error {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return c.late(ctx)
	case <-c.ctx.Done():
		return c.cause()
	}
	if ctx.Err() != nil { // as well: nothing is begun then
		<-c.slots
		return c.late(ctx)
	}
	now := c.options.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.err
	if err == nil && prepare != nil {
		err = prepare(now.Add(c.offset))
	}
	if err != nil {
		<-c.slots
		return err
	}
	r.done = make(chan struct{})
	r.settle = c.givingBack(r.settle)
	if r.isWrite {
		c.lastWrite++
		r.write = c.lastWrite
	}
	if c.link != nil && !c.link.has(r.feature) {
		r.finish(ErrUnsupported)
		return nil
	}
	c.requests = append(c.requests, r)
	sendMore(c)
	return nil
}

// cause returns why the client has ended, nil if it has not.
func (c *Client) cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *Client) givingBack(settle func(wire.ServerMessage, error)) func(wire.ServerMessage, error) {
	return func(m wire.ServerMessage, err error) {
		<-c.slots
		if settle != nil {
			settle(m, err)
		}
	}
}

// send sends a request on the connection that there is. The lock is held.
func (c *Client) send(r *request) {
	c.lastID++
	r.id, r.sent, r.marked = c.lastID, true, r.write != 0 && c.link.knowsWrites
	msg := r.encode(nil, r.id)
	if r.marked {
		msg = wire.AppendWriteID(msg, c.writer, r.write)
	}
	if r.isWrite && c.link.has(wire.FeatureConflicts) {
		msg = wire.AppendConflicts(msg)
	}
	c.post(r.id, msg)
}

// post sends a request or a listen. One that the server would not read is answered here,
// soon: it would end the connection, and each further one on which it is sent again. The
// lock is held.
func (c *Client) post(id int64, msg []byte) {
	excess := c.link.excess(msg)
	if excess == "" {
		c.link.send(msg)
		return
	}
	answerSoon(c, id, wire.StatusTooBig, excess)
}

// answerSoon answers a request or a listen in the name of the server, once the lock that is
// held is free.
func answerSoon(c *Client, id int64, status, text string) {
	l := c.link
	go func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.link == l { // else it was asked again
			c.response(wire.ServerMessage{ID: id, Status: status, Data: wire.AppendString(nil, text)})
		}
	}()
}

// sendAll sends the requests without an answer on a new connection. A write that must
// not be carried out twice fails if the server does not know write ids: it may have been
// carried out already. The lock is held.
func (c *Client) sendAll() {
	requests := c.requests
	c.requests = make([]*request, 0, len(requests))
	for _, r := range requests {
		if r.sent && !r.repeats && !c.link.knowsWrites {
			r.finish(ErrDisconnected)
			continue
		}
		if !c.link.has(r.feature) {
			r.finish(ErrUnsupported)
			continue
		}
		c.requests = append(c.requests, r)
	}
	sendMore(c)
}

// sendOn is sendMore for a connection that has room again.
func sendOn(c *Client, l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == l {
		sendMore(c)
	}
}

// sendMore sends the requests that were not sent on the connection, if there is one, as far as it has
// room. They are the last ones. The lock is held.
func sendMore(c *Client) {
	if c.link == nil {
		return
	}
	i := len(c.requests)
	for i > 0 && c.requests[i-1].id == 0 {
		i--
	}
	for _, r := range c.requests[i:] {
		if !c.link.hasRoom() {
			return
		}
		c.send(r)
	}
}

// answered takes the answer to a request. The lock is held.
func (c *Client) answered(m wire.ServerMessage) {
	i := slices.IndexFunc(c.requests, func(r *request) bool { return r.id == m.ID })
	if i < 0 {
		return // it was given up
	}
	r := c.requests[i]
	c.requests = slices.Delete(c.requests, i, i+1)
	var err error
	if m.Status != wire.StatusOK {
		err = refusal(r.op, r.path, m)
	}
	r.finishWith(m, err)
}

// takeBack gives a request up whose context has ended. It reports whether the
// request is settled; one that was sent and changes something is not.
func (c *Client) takeBack(r *request, why error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.requests, r)
	if i < 0 {
		return true // it has just been answered
	}
	if r.id != 0 && !r.harmless {
		return false
	}
	c.requests = slices.Delete(c.requests, i, i+1)
	r.finish(why)
	return true
}

// giveUp fails the read or listen that was asked first and is not answered. It is
// the one that a message which is too big was for: servers answer reads in order,
// and asked again they would send that again. If it was for none, since a view has
// grown, it is for one on the next connection.
func (c *Client) giveUp(why error) {
	c.options.Log.Warn("a message is too big", "err", why)
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.requests, func(r *request) bool { return r.id != 0 && r.harmless })
	first := int64(math.MaxInt64)
	if i >= 0 {
		first = c.requests[i].id
	}
	for id := range c.asked {
		first = min(first, id)
	}
	if a, ok := c.asked[first]; ok {
		delete(c.asked, first)
		a.refuse(c, failed("listen", a.path(), why))
	} else if i >= 0 {
		r := c.requests[i]
		c.requests = slices.Delete(c.requests, i, i+1)
		r.finish(why)
	}
}

// lost takes note that the connection is gone. It reports whether the request
// is to be sent again.
func (r *request) lost() bool {
	if r.id == 0 || r.repeats || r.marked {
		r.id = 0
		return true
	}
	r.finish(ErrDisconnected)
	return false
}

func (r *request) finish(err error) { r.finishWith(wire.ServerMessage{}, err) }

func (r *request) finishWith(m wire.ServerMessage, err error) {
	r.err = err
	if err == nil && r.answered != nil {
		r.answered(m)
	}
	if r.settle != nil {
		r.settle(m, err)
	}
	close(r.done)
}
