package realtime

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/server/auth"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/peer"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// A conn is one client of the realtime protocol: a session of the engine, its
// outbox and the transport in between.
//
// It outlives its transports and ends with the session. Three locks belong to
// it. in makes requests of one client come one after the other, whichever
// transport they came through; it is held while a request waits for the
// database. mu is held for moments, to change the transport. closing runs the
// end once. The outbox may call wake at any time, also under the lock of the
// audience, so wake takes none of them.
type conn struct {
	rt       *Server
	id       string // the hello's s; a secret, since it can end (ls) and take over (s) the conn
	name     string // in logs, and for administrators
	remote   peer.Remote
	ns       string
	out      *outbox.Outbox
	session  *dsync.Session
	leave    func()          // ends the use of the database
	ctx      context.Context // requests run under it
	cancel   context.CancelFunc
	closing  sync.Once
	ended    chan struct{} // closed when closing begins
	peer     *peer.Client  // of the client's address, held while conns has c; nil: without bounds
	throttle *throttle

	in     sync.Mutex // held while session is used: one request at a time
	closed bool       // guarded by in

	credential auth.Identity // that the client signed in with; guarded by in
	check      *time.Timer   // to look at it again, nil for never; guarded by in

	presented atomic.Pointer[auth.Identity] // credential if it can end, for goroutines that do not hold in

	mu    sync.Mutex             // held to change sock, and what moved is closed by
	poll  atomic.Pointer[poll]   // nil: the client began with a WebSocket
	sock  atomic.Pointer[socket] // nil: it has none yet
	moved chan struct{}          // closed when the client's last message came through poll; nil without poll
}

func newConn(rt *Server, ns string, db *dsync.Database, a *peer.Client) *conn {
	c := &conn{rt: rt, id: rand.Text(), name: rt.nextName(), ns: ns, ended: make(chan struct{}), peer: a, throttle: rt.newThrottle(a)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.out = outbox.New(outbox.Realtime, rt.opts.Limits.OutboxBytes, c.wake)
	res := rt.opts.Peers.Resources(a)
	c.out.Share(res.Views)
	c.out.TakeFrom(c.workMemory())
	c.session = db.NewSession(dsync.SessionOptions{ID: c.id, Name: c.name, Out: c.out, SignIn: c.signIn, Quota: res.Quota, Pending: res.Pending, Memory: c.workMemory(), Limited: c.limited, Charge: c.throttle.charge})
	return c
}

// workMemory is what the writes of the connection take their memory from.
func (c *conn) workMemory() peer.WorkMemory {
	return peer.WorkMemory{Of: c.rt.opts.Peers.Resources(c.peer).Work, Full: func(refusal error) {
		c.rt.opts.Refusals.Add(peer.ReasonOf(refusal, metrics.Work, metrics.AddressWork), c.remote.Addr)
	}}
}

// hello is the first message of every connection (protocol §3).
func (c *conn) hello(host string) []byte {
	return wire.AppendHello(nil, c.rt.opts.Now().UnixMilli(), host, c.id, wire.Features...)
}

// wake tells the transport that the outbox has something for it, or wants the
// conn closed. The outbox calls it and must not be called from here.
func (c *conn) wake() {
	poll, sock := c.transports()
	if poll != nil {
		poll.wake()
	}
	if sock != nil {
		sock.wake()
	}
}

func (c *conn) transports() (*poll, *socket) {
	return c.poll.Load(), c.sock.Load()
}

// receive takes one message from a socket. It waits while replies fill the outbox: a
// client that does not read is not read from. The client's own network is the queue: it
// is full when nothing is read.
func (c *conn) receive(text string, control func(typ string) error) error {
	if c.out.Wait(c.ctx) != nil {
		return dropped
	}
	return c.take(text, control)
}

// take takes one message from the client. Control messages go to the transport that it
// came through. An error ends the connection.
func (c *conn) take(text string, control func(typ string) error) error {
	m, err := c.parse(text)
	switch {
	case err != nil:
		return c.malformed(err)
	case m.Control != nil:
		return control(m.Control.Type)
	}
	return c.handle(m.Request)
}

// malformed answers a message that could not be read, or ends the connection if it is
// not known which request it was.
func (c *conn) malformed(err error) error {
	var bad *wire.FormatError
	if !errors.As(err, &bad) || bad.ID < 0 {
		return closeReason{closeProtocolError, err.Error()}
	}
	c.out.PushFrame(wire.AppendError(nil, bad.ID, wire.StatusInvalidParameters, bad.Msg))
	return nil
}

// parse parses a message. Long ones wait for a place, for which addresses take turns.
func (c *conn) parse(text string) (m wire.Message, err error) {
	if len(text) < outbox.LongText {
		return wire.ParseMessage(text)
	}
	err = c.rt.opts.Peers.Resources(c.peer).Readers.Do(c.ctx, func() error {
		m, err = wire.ParseMessage(text)
		return err
	})
	return m, err
}

// handle makes the session handle a request.
func (c *conn) handle(r wire.Request) error {
	c.in.Lock()
	defer c.in.Unlock()
	if c.closed {
		return goingAway
	}
	c.session.Handle(c.ctx, r)
	return nil
}

// close ends the connection: the session first, so that its onDisconnect
// operations have run when close returns, then the transports, which flush
// what is in the outbox and say closeReason. All calls wait for the first one.
//
// After the session has ended nothing more comes into the outbox. So the
// transports can send the rest of it, and then say why.
func (c *conn) close(reason closeReason) {
	c.closing.Do(func() {
		defer c.rt.remove(c)
		defer c.leave()
		c.rt.opts.Log.Debug("connection closed", "connection", c.name, "namespace", c.ns, "code", reason.code, "reason", reason.text)
		close(c.ended)
		if reason.code == 0 {
			c.cancel()
		} else {
			time.AfterFunc(Linger, c.cancel) // until then requests may finish, and be answered
		}
		c.closeSession()
		poll, sock := c.transports()
		if poll != nil {
			poll.end(reason)
		}
		if sock != nil {
			sock.end(reason)
		}
		if poll == nil && sock == nil {
			c.out.Close()
		}
	})
}

func (c *conn) closeSession() {
	defer func() {
		if p := recover(); p != nil {
			c.rt.panicked("close session", p)
		}
	}()
	c.in.Lock()
	defer c.in.Unlock()
	c.closed = true
	if c.check != nil {
		c.check.Stop()
	}
	c.session.Close()
}

// carry makes s the transport of c, or, next to a poll, the one that c may move
// to (protocol §14). It fails when c has one already, or is closed.
func (c *conn) carry(s *socket) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sock.Load() != nil || isClosed(c.ended) {
		return false
	}
	c.sock.Store(s)
	return true
}

// isPolling reports whether c began with a poll.
func (c *conn) isPolling() bool {
	poll, _ := c.transports()
	return poll != nil
}

// move is called when the client's last message came through the poll. It
// fails when there is no socket to move to.
func (c *conn) move() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sock.Load() == nil {
		return false
	}
	close(c.moved)
	return true
}

// lost is called when socket s has ended. If the client did not rely on it yet
// the conn goes on without it. If it has another socket, s was refused.
func (c *conn) lost(s *socket, relied bool, reason closeReason) {
	c.mu.Lock()
	if has := c.sock.Load(); has != nil && has != s {
		c.mu.Unlock()
		return
	}
	spare := !relied && c.poll.Load() != nil && !isClosed(c.moved)
	if spare {
		c.sock.Store(nil)
	}
	c.mu.Unlock()
	if !spare {
		c.close(reason)
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// limited counts an operation that reached a bound of the engine.
func (c *conn) limited(b fault.Bound) { c.rt.opts.Refusals.Add(metrics.Bounds[b], c.remote.Addr) }
