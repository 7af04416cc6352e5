package peer

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/limit"
)

// The bytes in front of the handler of a request are counted here, as its bytes
// arrive: net/http bounds the length of a head, but not what it takes in memory, and a head
// is kept for as long as its request lasts.

// inHead is conn.left while a head is read, and unknown while a body of unknown length is.
const (
	inHead  = -2
	unknown = -1
)

// maxAhead is how much is read at a time of a body of unknown length, and so how much of the
// next head may be read with it.
const maxAhead = 512

// readAhead is what net/http reads at a time.
const readAhead = 4 << 10

var aheadBuffers = sync.Pool{New: func() any { return new([readAhead]byte) }}

// Read implements net.Conn. It never returns bytes of a head together with those that follow
// it, so that all heads are counted, in whatever pieces they arrive.
func (c *conn) Read(p []byte) (n int, err error) {
	c.endTurn()
	left := c.left.Load()
	switch {
	case left == inHead && (!c.head.ended || len(p) > 1):
		return c.readHead(p)
	case left == unknown && len(p) <= readAhead:
		p = p[:min(len(p), maxAhead)]
	case left == unknown:
		return c.readBody(p)
	case left > 0:
		n, err = c.readBody(p[:min(int64(len(p)), left)])
		c.left.Add(int64(-n))
		return n, err
	}
	return c.fetch(p) // or net/http waits for the client to leave, with a buffer of one byte
}

// fetch reads what was read too far, or from the network.
func (c *conn) fetch(p []byte) (n int, err error) {
	if len(c.ahead) == 0 {
		return c.Conn.Read(p)
	}
	n = copy(p, c.ahead)
	c.keepAhead(c.ahead[n:])
	return n, nil
}

// readBody reads bytes of a body. Of a large one, they are read while no other connection of the
// client reads such: to copy them from the system is much of the work of a body, and dozens of
// connections that do so at once would keep all processors from other clients.
func (c *conn) readBody(p []byte) (n int, err error) {
	if tcp, ok := c.Conn.(*net.TCPConn); ok && c.client != nil && len(c.ahead) == 0 && len(p) >= largeBody {
		return readLocked(tcp, p, &c.client.intake)
	}
	return c.fetch(p)
}

// largeBody is the room for bytes of a body from which on they are read one connection after the other.
const largeBody = 8 << 10

// keepAhead keeps bytes for the next call of fetch.
func (c *conn) keepAhead(p []byte) {
	switch {
	case len(p) > 0 && c.buffer == nil:
		c.buffer = aheadBuffers.Get().(*[readAhead]byte)
		c.ahead = append(c.buffer[:0], p...)
	case len(p) > 0:
		c.ahead = c.buffer[:copy(c.buffer[:], p)]
	default:
		c.dropAhead()
	}
}

func (c *conn) dropAhead() {
	if c.buffer != nil {
		aheadBuffers.Put(c.buffer)
	}
	c.ahead, c.buffer = nil, nil
}

// readHead reads bytes of a head, and counts them. If they are too many, it answers the
// request, and the error is one to which net/http has nothing to add.
func (c *conn) readHead(p []byte) (int, error) {
	n, err := c.fetch(p[:min(len(p), readAhead)])
	if n == 0 {
		return n, err
	}
	c.takeTurn(n)
	c.head.ended = false
	if end := c.head.take(p[:n]); end < n {
		c.unread(p[end:n])
		n = end
	}
	switch {
	case c.head.lines > MaxHeadLines:
		return 0, c.refuse(http.StatusRequestHeaderFieldsTooLarge)
	case !c.count(c.head.cost()):
		return 0, c.refuse(http.StatusServiceUnavailable)
	}
	return n, err
}

// takeTurn waits until no other connection of the client takes in a piece of a large head,
// which is over with the next call of Read or Write, or when the request has its handler.
// Hundreds of heads that arrive at once would keep all processors from other clients.
func (c *conn) takeTurn(n int) {
	if c.client != nil && c.head.size+int64(n) > FreeHead {
		c.client.intake.Lock()
		c.turn.Store(true)
	}
}

func (c *conn) endTurn() {
	if c.turn.Load() && c.turn.CompareAndSwap(true, false) { // net/http reads on while the handler begins
		c.client.intake.Unlock()
	}
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.endTurn()
	return c.Conn.Write(p)
}

// unread puts bytes before those that were read too far, from which they were taken.
func (c *conn) unread(p []byte) {
	if len(c.ahead) > 0 {
		p = append(p[:len(p):len(p)], c.ahead...)
	}
	c.keepAhead(p)
}

// count makes the head count as n bytes. It is false if there is no room.
func (c *conn) count(n int64) bool {
	more := n - c.held.Size()
	return more <= 0 || c.held.Grow(more) == nil
}

// refusalTime is how long a client has to take a refusal and to stop sending.
const refusalTime = 500 * time.Millisecond

// refuse answers a request that has not come to its end.
func (c *conn) refuse(status int) error {
	c.endTurn()
	text := fmt.Sprint(status, " ", http.StatusText(status))
	header := ""
	if status == http.StatusServiceUnavailable {
		header = "Retry-After: 1\r\n"
	}
	c.held.End() // the head is not kept
	_ = c.Conn.SetDeadline(time.Now().Add(refusalTime))
	_, err := fmt.Fprintf(c.Conn, "HTTP/1.1 %s\r\n%sContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n%[1]s", text, header)
	if err == nil && c.CloseWrite() == nil {
		// To close while the client sends could make its network drop the answer.
		_, _ = io.CopyN(io.Discard, c.Conn, 1<<20)
	}
	return &net.OpError{Op: "read", Net: "tcp", Addr: c.RemoteAddr(), Err: fmt.Errorf("the request was refused: %s", text)}
}

// CloseWrite implements what net/http calls before it closes a connection.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// NetConn returns what is beneath.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Bare returns the connection that net/http read requests from as it is without the bounds of
// requests, for what takes it over. It fails if the client has sent more than its request.
func Bare(c net.Conn) (net.Conn, error) {
	counted := connOf(c)
	switch {
	case counted == nil:
		return c, nil
	case len(counted.ahead) > 0:
		return nil, fmt.Errorf("peer: %s sent data before it was answered", c.RemoteAddr())
	}
	return counted.Conn, nil
}

// connOf returns the conn that c is, nil if it is none.
func connOf(c net.Conn) *conn {
	switch c := c.(type) {
	case *conn:
		return c
	case *secureConn:
		return c.conn
	}
	return nil
}

// beginHead makes the next bytes those of a head, when nothing is being read. What the one
// before it took is given back.
func (c *conn) beginHead() {
	c.release()
	c.head = head{}
	c.left.Store(inHead)
}

// release gives back what the head took. The next one counts for the client of the connection
// until its request says, through a proxy, that it is of another client.
func (c *conn) release() {
	c.held.End()
	c.held.Of = c.table.Resources(c.client).Bodies
	c.request = nil
}

// enter makes the next bytes those of the body of r.
func (c *conn) enter(r *http.Request) {
	c.endTurn()
	c.request = r
	c.left.Store(max(r.ContentLength, unknown))
}

// keptHeader is the length up to which the header of a proxy is kept, from which the log has
// the address of the client.
const keptHeader = 1 << 10

// shed forgets the headers of the request.
func (c *conn) shed() {
	if c.request == nil {
		return
	}
	h, name := c.request.Header, http.CanonicalHeaderKey(c.table.options.ProxyHeader)
	told := h[name]
	clear(h)
	if c.proxy && len(strings.Join(told, "")) <= keptHeader {
		h[name] = told
	}
	if n := lineCost(c.request.RequestURI); n < c.held.Size() {
		c.held.Settle(n)
	}
}

// chargeTo makes the head count for a client behind a proxy. It is false if the client has no
// room for it.
func (c *conn) chargeTo(client *Client) bool {
	n := c.held.Size()
	if n == 0 || client == nil {
		return true
	}
	held := limit.Hold{Of: client.Bodies}
	if held.Grow(n) != nil {
		return false
	}
	c.held.End()
	c.held = held
	return true
}
