package bench

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

// A conn is one realtime connection. One goroutine may read while others write.
type conn struct {
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
	writing bool   // somebody writes, and will look again
}

// dial connects to a target and waits for the hello. buffer is the size of the
// read buffer.
func dial(ctx context.Context, t Target, buffer int) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	socket, err := dialTCP(ctx, t)
	if err != nil {
		return nil, err
	}
	c := &conn{net: socket, source: source{net: socket}}
	c.frames = frameReader{br: bufio.NewReaderSize(&c.source, buffer), wait: c.source.wait}
	c.pieces.MaxBytes = maxFrame
	stop := context.AfterFunc(ctx, c.close)
	err = c.greet(t)
	if !stop() {
		err = errors.Join(fmt.Errorf("connect: %w", context.Cause(ctx)), err)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// greet makes a WebSocket of the connection and takes the hello.
func (c *conn) greet(t Target) error {
	if err := handshake(c.net, c.frames.br, t); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	hello, err := c.next()
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

// add queues a message. It is sent by the next flush.
func (c *conn) add(msg []byte) {
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

// flush writes what is queued in one call. If another goroutine is writing, that
// one takes care of it.
func (c *conn) flush() error {
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

func (c *conn) send(msg []byte) error {
	c.add(msg)
	return c.flush()
}

// next returns the next message, which is valid until the next call. It answers
// pings on the way. After errNotYet it goes on where it was.
func (c *conn) next() ([]byte, error) {
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
			c.mu.Lock()
			c.out = appendFrame(c.out, opPong, payload)
			c.mu.Unlock()
			if err := c.flush(); err != nil {
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

// closed is the error of a close frame.
func closed(payload []byte) error {
	if len(payload) < 2 {
		return errors.New("the server closed the connection")
	}
	return fmt.Errorf("the server closed the connection: %d %s", int(payload[0])<<8|int(payload[1]), payload[2:])
}

// collect puts messages in pieces together (protocol §1.2). Whole ones, the
// usual case, are passed on as they are.
func (c *conn) collect(frame []byte) (msg []byte, done bool, err error) {
	if !c.within && len(frame) > 6 {
		return frame, true, nil
	}
	text, done, err := c.pieces.Add(string(frame))
	c.within = !done && (c.within || string(frame) != "0")
	return []byte(text), done, err
}

// more reports whether the next message has begun to arrive.
func (c *conn) more() bool { return c.frames.more() }

func (c *conn) close() { _ = c.net.Close() } // nothing is left to lose

// A refusedError is a response that is not ok.
type refusedError struct{ status, text string }

func (e *refusedError) Error() string { return e.status + ": " + e.text }

// call sends a request that make writes and waits for its response. It is for
// what comes before the load: pushes are dropped.
func (c *conn) call(make func(dst []byte, id int64) []byte) error {
	_, err := c.ask(make)
	return err
}

// ask is call for a request whose response has data, which are valid until the
// next message.
func (c *conn) ask(make func(dst []byte, id int64) []byte) ([]byte, error) {
	c.lastID++
	if err := c.send(make(nil, c.lastID)); err != nil {
		return nil, err
	}
	for {
		text, err := c.next()
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
			return nil, &refusedError{m.Status, string(m.Data)}
		}
		return m.Data, nil
	}
}

// signIn presents a user's token.
func (c *conn) signIn(token string) error {
	err := c.call(func(dst []byte, id int64) []byte { return wire.AppendAuth(dst, id, wire.ActionAuth, token) })
	if err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	return nil
}

// listen follows a path and waits for its first view.
func (c *conn) listen(path, query string) error {
	var tag int64
	if query != "" {
		tag = 1
	}
	err := c.call(func(dst []byte, id int64) []byte { return wire.AppendListen(dst, id, path, query, tag, "") })
	if err != nil {
		return fmt.Errorf("listen %s: %w", path, err)
	}
	return nil
}
