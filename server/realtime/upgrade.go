package realtime

import (
	"net/http"
	"time"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// An upgrade is a conn on its way from a poll to a socket (protocol §14.4):
//
//   - the socket's first message is a switch control instead of a hello;
//   - the client pings on it and, when it likes the answers, sends a switch
//     control too; from then on it sends its requests here;
//   - the client's last message through the poll is an end control. The socket
//     waits for it, so that all requests are handled in order;
//   - our last message through the poll is an end control as well; what comes
//     out of the outbox after it goes to the socket.
type upgrade struct {
	c *conn
	s *socket
}

// serveUpgrade answers a handshake that names a conn, which is known only to
// the client that has it.
func (rt *Server) serveUpgrade(w http.ResponseWriter, r *http.Request, id string) {
	ns, err := rt.opts.Host.Namespace(r)
	c := rt.lookup(ns, id)
	if err != nil || c == nil || !c.isPolling() {
		rt.refuse(w, r, wire.AppendControlText(nil, wire.ControlReset, r.Host))
		return
	}
	s := rt.accept(w, r, c)
	if s == nil {
		return
	}
	u := &upgrade{c, s}
	s.receive = u.receive
	if !c.carry(s) {
		s.push(wire.AppendControlText(nil, wire.ControlReset, r.Host))
		s.end(left)
		s.start(true)
		return
	}
	s.push(wire.AppendControl(nil, wire.ControlSwitch, "{}"))
	s.start(true)
}

// receive takes a message from the socket.
func (u *upgrade) receive(text string) error {
	if u.s.relied {
		return u.c.receive(text, u.s.control)
	}
	m, err := wire.ParseMessage(text)
	switch {
	case err != nil:
		return closeReason{closeProtocolError, err.Error()}
	case m.Control == nil:
		return closeReason{closeProtocolError, "a request before the switch"}
	case m.Control.Type == wire.ControlPing:
		u.s.push(wire.AppendControl(nil, wire.ControlPong, "null"))
	case m.Control.Type == wire.ControlSwitch:
		u.s.relied = true
		return u.wait()
	}
	return nil
}

// wait returns when all messages of the poll have been handled.
func (u *upgrade) wait() error {
	timeout := time.NewTimer(UpgradeTimeout)
	defer timeout.Stop()
	select {
	case <-u.c.moved:
		return nil
	case <-u.c.ended:
		return goingAway
	case <-timeout.C:
		return silent
	}
}
