package server

import (
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/peer"
)

// upgrader does the handshake of WebSockets. Any origin may connect, since
// tokens protect the data and cookies mean nothing (protocol §1.1). The library
// only reads: its buffer is that of the inlet, and it gets none to write with,
// see socket.
var upgrader = websocket.Upgrader{
	HandshakeTimeout: 10 * time.Second,
	WriteBufferPool:  new(sync.Pool),
	CheckOrigin:      func(*http.Request) bool { return true },
}

// serveWS answers GET /.ws: a new connection, or the second transport of a
// connection that began with long polling (protocol §1.1, §14).
func (rt *realtime) serveWS(w http.ResponseWriter, r *http.Request) {
	if !websocket.IsWebSocketUpgrade(r) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		http.Error(w, "This address is for WebSockets.", http.StatusUpgradeRequired)
		return
	}
	if id := r.URL.Query().Get("s"); id != "" {
		rt.serveUpgrade(w, r, id)
		return
	}
	c, err := rt.open(r)
	if msg := refusal(err); msg != nil {
		rt.refuse(w, r, msg)
		return
	}
	if err != nil {
		rt.unavailable(w, err)
		return
	}
	s := rt.accept(w, r, c)
	if s == nil {
		c.close(dropped)
		return
	}
	s.receive = func(text string) error { return c.receive(text, s.control) }
	c.opened(w)
	s.push(c.hello(r.Host))
	carries := c.carry(s)
	s.goLive()
	s.start(carries)
}

// refuse accepts a WebSocket only to send msg, since a client cannot see why a
// handshake failed.
func (rt *realtime) refuse(w http.ResponseWriter, r *http.Request, msg []byte) {
	if s := rt.accept(w, r, nil); s != nil {
		s.push(msg)
		s.end(left)
		s.start(true)
	}
}

// accept makes a request a socket for c, nil for none. The socket has to be
// started. It returns nil if the request was answered in another way.
func (rt *realtime) accept(w http.ResponseWriter, r *http.Request, c *conn) *socket {
	in := &inletWriter{ResponseWriter: w}
	ws, err := upgrader.Upgrade(in, r, http.Header{observe.HeaderRequestID: {observe.RequestOf(w)}})
	if err != nil {
		if in.conn != nil {
			rt.s.conns.End(in.conn, false)
		}
		return nil // the library has answered
	}
	s := newSocket(rt, ws, c)
	s.gone = peer.RequestOf(r).Keep(in.conn, rt.s.conns)
	if rt.addSocket(s) != nil {
		ws.Close()
		s.gone()
		return nil
	}
	return s
}

// maxMessage is the limit for one message of a client in bytes: that for its
// data, and some room for the envelope.
func (rt *realtime) maxMessage() int { return int(rt.s.opts.MaxMessageBytes) + 64<<10 }
