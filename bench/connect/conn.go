// Package connect makes the connections of a load generator: realtime connections, HTTP
// connections that are kept, and those of an administrator. They cost as little processor
// time as possible, since the generator shares a machine with the server.
package connect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// handshakeTimeout bounds how long a server may take to accept a connection.
const handshakeTimeout = 30 * time.Second

// A Conn is one realtime connection. One goroutine may read while others write.
//
// It is made for cheap load and not for use by applications: it does not
// reconnect, keeps no state of listens, and gives out messages in its own
// buffer. Add and Flush may be called by several goroutines, Next by one.
type Conn struct {
	net    net.Conn
	source source
	frames frameReader
	pieces wire.Collector
	within bool   // a message in pieces has begun
	whole  []byte // of a message in continued frames
	middle bool   // of one
	lastID int64  // of the requests before the load

	mu      sync.Mutex
	out     []byte // frames that wait to be written
	spare   []byte // the buffer that is not out
	writing bool   // a goroutine writes, and will look again
}

// Dial connects to a target and waits for the hello. buffer is the size of the
// read buffer.
func Dial(ctx context.Context, t Target, buffer int) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	socket, err := DialTCP(ctx, t)
	if err != nil {
		return nil, err
	}
	c := &Conn{net: socket, source: source{net: socket}}
	c.frames = frameReader{br: bufio.NewReaderSize(&c.source, buffer), wait: c.source.wait}
	c.pieces.MaxBytes = maxFrame
	stop := context.AfterFunc(ctx, c.Close)
	err = c.greet(t)
	if !stop() {
		err = errors.Join(fmt.Errorf("connect: %w", context.Cause(ctx)), err)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// greet makes a WebSocket of the connection and takes the hello.
func (c *Conn) greet(t Target) error {
	if err := handshake(c.net, c.frames.br, t); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	hello, err := c.Next()
	if err == nil {
		err = checkHello(hello)
	}
	if err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	return nil
}

func checkHello(text []byte) error {
	m, err := wire.ParseServerMessage(text)
	switch {
	case err != nil:
		return err
	case m.Control == wire.ControlShutdown:
		return fmt.Errorf("the server refuses: %s", m.Data)
	case m.Control != wire.ControlHello:
		return fmt.Errorf("got %.100s", text)
	}
	return nil
}

// Add queues a message. It is sent by the next flush.
func (c *Conn) Add(msg []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(msg) <= wire.MaxUnit {
		c.out = appendFrame(c.out, opText, msg)
		return
	}
	frames, err := wire.AppendFrames(nil, msg)
	if err != nil {
		panic(err) // our messages are far below that limit
	}
	for _, f := range frames {
		c.out = appendFrame(c.out, opText, f)
	}
}

// Flush writes queued messages in one call. If another goroutine is writing, that one
// writes them.
func (c *Conn) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writing {
		return nil
	}
	c.writing = true
	defer func() { c.writing = false }()
	for len(c.out) > 0 {
		buf := c.out
		c.out, c.spare = c.spare[:0], nil
		c.mu.Unlock()
		_, err := c.net.Write(buf)
		c.mu.Lock()
		c.spare = buf
		if err != nil {
			return err
		}
	}
	return nil
}

// Send sends a message, after those that Add has queued.
func (c *Conn) Send(msg []byte) error {
	c.Add(msg)
	return c.Flush()
}

// Next returns the next message, which is valid until the next call. It answers
// pings on the way. After errNotYet it goes on where it was.
func (c *Conn) Next() ([]byte, error) {
	for {
		if !c.middle {
			c.whole = c.whole[:0]
		}
		op, fin, payload, err := c.frames.next()
		if err != nil {
			return nil, err
		}
		switch op {
		case opPing:
			if err := c.pong(payload); err != nil {
				return nil, err
			}
			continue
		case opPong:
			continue
		case opClose:
			return nil, closed(payload)
		case opText, opContinue:
		default:
			return nil, fmt.Errorf("%w: opcode %d", errBadFrame, op)
		}
		if !fin || op == opContinue {
			if len(c.whole)+len(payload) > maxFrame {
				return nil, fmt.Errorf("%w: too long", errBadFrame)
			}
			c.whole = append(c.whole, payload...)
			if c.middle = !fin; c.middle {
				continue
			}
			payload = c.whole
		}
		if msg, done, err := c.collect(payload); done || err != nil {
			return msg, err
		}
	}
}

func (c *Conn) pong(payload []byte) error {
	c.mu.Lock()
	c.out = appendFrame(c.out, opPong, payload)
	c.mu.Unlock()
	return c.Flush()
}

// closed is the error of a close frame.
func closed(payload []byte) error {
	if len(payload) < 2 {
		return errors.New("the server closed the connection")
	}
	return fmt.Errorf("the server closed the connection: %d %s", int(payload[0])<<8|int(payload[1]), payload[2:])
}

// collect puts messages in pieces together (protocol §1.2). Whole ones, the
// usual case, are passed on as they are.
func (c *Conn) collect(frame []byte) (msg []byte, done bool, err error) {
	if !c.within && len(frame) > 6 {
		return frame, true, nil
	}
	text, done, err := c.pieces.Add(string(frame))
	c.within = !done && (c.within || string(frame) != "0")
	return []byte(text), done, err
}

// More reports whether the next message has begun to arrive.
func (c *Conn) More() bool { return c.frames.more() }

func (c *Conn) Close() { _ = c.net.Close() } // nothing is left to lose

// A RefusedError is a response that is not ok.
type RefusedError struct{ Status, Text string }

func (e *RefusedError) Error() string { return e.Status + ": " + e.Text }

// Call sends a request that make writes and waits for its response. It drops pushes, so it
// is for requests before the load.
func (c *Conn) Call(make func(dst []byte, id int64) []byte) error {
	_, err := c.Ask(make)
	return err
}

// Ask is call for a request whose response has data, which are valid until the
// next message.
func (c *Conn) Ask(make func(dst []byte, id int64) []byte) ([]byte, error) {
	c.lastID++
	if err := c.Send(make(nil, c.lastID)); err != nil {
		return nil, err
	}
	for {
		text, err := c.Next()
		if err != nil {
			return nil, err
		}
		m, err := wire.ParseServerMessage(text)
		switch {
		case err != nil:
			return nil, err
		case m.Status == "" || m.ID != c.lastID:
			continue
		case m.Status != wire.StatusOK:
			return nil, &RefusedError{m.Status, string(m.Data)}
		}
		return m.Data, nil
	}
}

// SignIn presents a user's token.
func (c *Conn) SignIn(token string) error {
	err := c.Call(func(dst []byte, id int64) []byte { return wire.AppendAuth(dst, id, wire.ActionAuth, token) })
	if err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	return nil
}

// Listen follows a path and waits for its first view.
func (c *Conn) Listen(path, query string) error {
	err := c.Call(func(dst []byte, id int64) []byte { return appendListen(dst, id, path, query) })
	if err != nil {
		return fmt.Errorf("listen %s: %w", path, err)
	}
	return nil
}

// MemberBuffer is the read buffer of a member.
const MemberBuffer = 4 << 10

// IdleBuffer is the smallest read buffer that works, for many connections.
const IdleBuffer = 512

// ReadBuffer is the read buffer of connections with much to read.
const ReadBuffer = 32 << 10

// Follow listens to a path and does not wait for the view.
func (c *Conn) Follow(path, query string) error {
	c.lastID++
	return c.Send(appendListen(nil, c.lastID, path, query))
}

// appendListen appends a listen. One with a query needs a tag.
func appendListen(dst []byte, id int64, path, query string) []byte {
	tag := int64(min(1, len(query)))
	return wire.AppendListen(dst, id, path, query, tag, "")
}

// ReceiveLittle makes the receive buffer of the system small, so that little arrives before
// it is read.
func (c *Conn) ReceiveLittle(bytes int) {
	if tcp, ok := c.net.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(bytes) // if it fails the system buffers more
	}
}

// Cut ends a connection as a broken network does: without notice.
func (c *Conn) Cut() {
	if tcp, ok := c.net.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // if it fails the end is a little more polite
	}
	c.Close()
}

// CallWithin is call with a bound on how long the answer may take.
func (c *Conn) CallWithin(d time.Duration, make func(dst []byte, id int64) []byte) error {
	if err := c.net.SetReadDeadline(time.Now().Add(d)); err != nil {
		return err
	}
	if err := c.Call(make); err != nil {
		return err
	}
	return c.net.SetReadDeadline(time.Time{})
}
