package realtime

import (
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/server/realtime/parking"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// maxQueue bounds the messages of a socket that are not from an outbox. A
// client of good faith causes three of them.
const maxQueue = 16

// A socket carries the messages of one conn over a WebSocket. It does the framing itself,
// since that keeps no buffer while there is nothing to read or write, joins the frames of
// many messages in one system call, and puts data, pings and the close frame in one order.
//
// A socket has one goroutine that reads, run, except while it is parked. What there is to
// write is written by the server's pool of writers, and if that would have to wait, by another
// goroutine of the socket, write.
//
// Fields "of the reader" need no lock while there is a reader. While the socket is parked
// there is none, and they belong to mu: ending the parked state makes a reader under mu,
// which hands them over. The writer has what writing says: the goroutine that has set busy is
// the only one that writes, be it one of the pool or write.
type socket struct {
	rt       *Server
	conn     net.Conn
	raw      syscall.RawConn         // beneath conn; nil: there is something in between
	c        *conn                   // nil: only says why it was refused
	writing  writing                 // with the fields above all that an event needs
	frames   frameReader             // of the reader
	gone     func()                  // ends what it counts as for its address
	receive  func(text string) error // takes one message
	deadline *peer.WriteDeadline     // of write: nil before it first runs
	relied   bool                    // of the reader: the client has no other transport
	greeted  bool                    // of the reader: a first frame of text was there
	until    time.Time               // of the reader: when the peer must have been heard
	due      time.Time               // of the reader: when the next piece of a message must have begun; zero: none is unfinished
	rest     rest                    // of the reader

	mu     sync.Mutex
	parked bool     // there is no reader; what belongs to it is guarded by mu
	queue  [][]byte // messages that are not from the outbox and come before it
	ping   bool     // a ping is due
	pong   []byte   // the payload of a ping that was not answered yet
	ended  bool     // reason is set: what there is goes out, then it closes
	reason closeReason
	dueAt  time.Time // when the next ping is due; once ended, when writing must have ended

	spoke   parking.Spoke[socket] // the wheel's
	watched int32                 // its number among the watched sockets, 0 for none; of the reader
}

func newSocket(rt *Server, nc net.Conn, c *conn) *socket {
	s := &socket{rt: rt, conn: nc, raw: rawConn(nc), c: c}
	s.frames.limit, s.frames.control, s.frames.short = int64(rt.maxMessage()), s.controlFrame, s.keepRate
	s.frames.in = input{conn: nc, raw: s.raw, before: s.waitForMore, received: rt.opts.Metrics.Sockets.Received}
	return s
}

// controlFrame acts on a control frame. Pings and pongs cost as much as a message, even if
// the server did not ask for them. Only the last ping needs an answer (RFC 6455 §5.5.3).
func (s *socket) controlFrame(op byte, payload []byte) error {
	if op == opClose {
		return closeOf(payload)
	}
	if err := s.keepRate(); err != nil {
		return err
	}
	s.waitLonger(time.Now())
	if op == opPing {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pong = payload
		s.startWriter()
	}
	return nil
}

// Spoke implements parking.Timed.
func (s *socket) Spoke() *parking.Spoke[socket] { return &s.spoke }

// WakeUp implements parking.Socket.
func (s *socket) WakeUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest.end(s)
}

// TimeIsUp implements parking.Timed: it pings, and ends the wait of a parked socket for its
// client.
func (s *socket) TimeIsUp(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if !now.Before(s.dueAt) {
		s.ping = true
		s.startWriter()
		s.dueAt = s.dueAt.Add(PingEvery)
		if s.dueAt.Before(now) {
			s.dueAt = now.Add(PingEvery)
		}
	}
	next := s.dueAt
	if s.parked && !now.Before(s.until) {
		s.until = past
		s.rest.end(s)
	}
	if s.parked && s.until.Before(next) {
		next = s.until
	}
	s.rt.wheel.Add(s, next)
}

// past is a time that has passed.
var past = time.Unix(1, 0)

// control acts on a control message: a ping wants an answer, all others mean
// nothing here (protocol §3).
func (s *socket) control(typ string) error {
	if typ == wire.ControlPing {
		s.c.out.PushFrame(wire.AppendControl(nil, wire.ControlPong, "null"))
	}
	return nil
}

// end makes the socket close: after it has written what there is and a close
// frame, or with code 0 as soon as possible. It does not wait. The reader
// notices by its deadline, the writer by the flag; neither is waited for here,
// because end is also called by them.
func (s *socket) end(reason closeReason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended, s.reason = true, reason
	s.dueAt = time.Now().Add(Linger)
	s.rt.wheel.Remove(s)
	if reason.code == 0 {
		s.closeConn()
		return
	}
	s.conn.SetReadDeadline(past)     // the reader is done
	s.conn.SetWriteDeadline(s.dueAt) // of a write that is under way, too
	s.rest.end(s)
	s.startWriter()
}

// closeConn ends the connection, which the reader notices and closes the rest of. It does not
// wait for the client, since mu is held.
func (s *socket) closeConn() {
	_ = peer.Cut(s.conn)
	s.rest.end(s)
}

// keepRate waits when the client sends too much, and is called by the reader.
func (s *socket) keepRate() error {
	if s.c != nil && s.c.throttle.wait(s.c.ctx) != nil {
		return dropped
	}
	return nil
}

// bodies returns what bounds messages that are not complete.
func (s *socket) bodies() *limit.Share {
	if s.c == nil {
		return s.rt.opts.Peers.Resources(nil).Bodies
	}
	return s.rt.opts.Peers.Resources(s.c.peer).Bodies
}

// from is the address at the other end of the socket, or of the client behind it.
func (s *socket) from() string {
	if s.c != nil {
		return s.c.remote.Addr
	}
	return s.conn.RemoteAddr().String()
}

// wake makes the socket look into the outbox. It may be called by the outbox.
func (s *socket) wake() {
	if s.writing.isLive() && s.writing.want(dirty) {
		s.rt.pool.add(s)
	}
}

// goLive makes the socket the one that takes from the outbox.
func (s *socket) goLive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing.state.Or(live)
	outbox.Copies(s.c.out, false)
	s.startWriter()
}

// push queues a message that belongs to this transport alone.
func (s *socket) push(msg []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if len(s.queue) == maxQueue {
		s.closeConn() // it pings and does not read the answers
		return
	}
	s.queue = append(s.queue, msg)
	s.startWriter()
}

// startWriter has messages of the socket itself written, or its end.
func (s *socket) startWriter() {
	if s.writing.want(dirty | own) {
		s.rt.pool.add(s)
	}
}

// cutOff ends the connection from the side of the writer. The reader may be in
// the middle of a request that waits for the peer to read.
func (s *socket) cutOff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeConn()
	if s.writing.isLive() {
		s.c.cancel()
	}
}

// extend sets the deadline of writing, which is dueAt once the socket has
// ended.
func (s *socket) extend(until time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		until = s.dueAt
	}
	return s.conn.SetWriteDeadline(until)
}
