package peer

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// MaxHandshake is how many bytes a client may send for a TLS handshake. Those of browsers are
// some 2 KiB, and a long session ticket adds a few.
const MaxHandshake = 32 << 10

// handshakeByteCost is what a byte of an unfinished handshake takes in memory: crypto/tls
// keeps records and messages, in buffers that grow by doubling.
const handshakeByteCost = 4

// A secureConn is a conn that speaks TLS.
type secureConn struct {
	*conn
	tls  *tls.Conn
	once sync.Once
}

// speaksTLS reports whether there is a handshake to come on a connection.
func speaksTLS(c net.Conn) bool {
	switch c.(type) {
	case *secureConn, *tls.Conn:
		return true
	}
	return false
}

// ConnectionState implements what net/http calls before it reads from a connection. It does
// the handshake.
func (c *secureConn) ConnectionState() tls.ConnectionState {
	c.once.Do(c.shakeHands)
	return c.tls.ConnectionState()
}

func (c *secureConn) shakeHands() {
	_ = c.tls.SetDeadline(time.Now().Add(c.table.options.HeaderTimeout))
	if err := c.tls.Handshake(); err != nil && !errors.Is(err, net.ErrClosed) { // which the server has closed
		c.table.options.HandshakeFailed(c.RemoteAddr().String(), explainTo(err))
	}
	_ = c.tls.SetDeadline(time.Time{})
	c.beginHead()
	c.shaken.Store(true)
}

// explainTo tells a client that does not speak TLS, but HTTP, what is wrong, and returns that.
func explainTo(err error) error {
	plain := tls.RecordHeaderError{}
	if !errors.As(err, &plain) || plain.Conn == nil {
		return err
	}
	switch string(plain.RecordHeader[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "PATCH", "DELET":
		_, _ = io.WriteString(plain.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
		return errors.New("the client sent an HTTP request to an HTTPS server")
	}
	return err
}

// A handshake is a connection beneath TLS. It counts what comes before there is a connection
// of TLS.
type handshake struct {
	net.Conn
	of *conn
}

// NetConn returns what is beneath, as tls.Conn.NetConn does.
func (h *handshake) NetConn() net.Conn { return h.Conn }

// Read implements net.Conn.
func (h *handshake) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	if n == 0 || h.of.shaken.Load() {
		return n, err
	}
	h.of.handshakes += int64(n)
	if h.of.handshakes > MaxHandshake || !h.of.count(beyondFree(h.of.handshakes*handshakeByteCost)) {
		return 0, fmt.Errorf("peer: there is no room for a handshake of %d bytes", h.of.handshakes)
	}
	return n, err
}
