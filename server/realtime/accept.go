package realtime

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/peer"
)

// upgrader does the handshake of WebSockets. Any origin may connect, since
// tokens protect the data and cookies mean nothing (protocol §1.1). Nothing of the library
// is kept after that: see frameReader for why a socket has its own framing.
var upgrader = websocket.Upgrader{
	HandshakeTimeout: 10 * time.Second,
	CheckOrigin:      func(*http.Request) bool { return true },
}

// refuse accepts a WebSocket only to send msg, since a client cannot see why a
// handshake failed.
func (rt *Server) refuse(w http.ResponseWriter, r *http.Request, msg []byte) {
	if s := rt.accept(w, r, nil); s != nil {
		s.push(msg)
		s.end(left)
		s.start(true)
	}
}

// accept makes a request a socket for c, nil for none. The socket has to be
// started. It returns nil if the request was answered in another way.
func (rt *Server) accept(w http.ResponseWriter, r *http.Request, c *conn) *socket {
	in := &takeover{ResponseWriter: w}
	_, err := upgrader.Upgrade(in, r, http.Header{observe.HeaderRequestID: {observe.RequestOf(w)}})
	if err != nil {
		if in.conn != nil {
			rt.opts.Conns.End(in.conn, false)
		}
		return nil // the library has answered
	}
	s := newSocket(rt, in.bare, c)
	s.gone = peer.RequestOf(r).Keep(in.conn, rt.opts.Conns)
	if rt.addSocket(s) != nil {
		in.conn.Close()
		s.gone()
		return nil
	}
	return s
}

// A takeover notes the connection that the library takes over.
type takeover struct {
	http.ResponseWriter
	conn net.Conn // nil before that
	bare net.Conn // the same, without the bounds of requests
}

// Hijack implements http.Hijacker.
func (w *takeover) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.conn = conn
	if w.bare, err = peer.Bare(conn); err != nil {
		// The library would answer an error, through net/http, which would complain in the log
		// that it has no connection any more. If it finds more than the request, it only closes.
		rw.Reader = bufio.NewReader(strings.NewReader("more"))
		_, err = rw.Reader.Peek(1)
		return conn, rw, err
	}
	return w.bare, rw, nil
}
