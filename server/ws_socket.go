package server

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// Times of a socket (protocol §1.3). Clients send a keep-alive after 45 seconds
// without traffic, so a first message comes within firstMessage, and browsers
// and all other clients answer pings by themselves.
const (
	pingEvery    = 25 * time.Second
	silence      = 75 * time.Second // without any frame: the peer is gone
	firstMessage = 60 * time.Second // answers to pings do not count before it
	stalled      = 15 * time.Second // without any byte of a message that has begun
	linger       = 2 * time.Second  // for the peer to take what is left, and to close
)

// A socket carries the messages of one conn over a WebSocket. The library does
// the handshake and reads. Writing is done here, since it joins the frames of
// many messages in one system call, keeps no buffer while there is nothing to
// write, and puts data, pings and the goodbye in one order.
//
// A socket has one goroutine that reads, run. What there is to write is written
// by the server's couriers, and if that would have to wait, by another goroutine
// of the socket, write.
type socket struct {
	rt       *realtime
	ws       *websocket.Conn
	inlet    *inlet                  // beneath ws
	conn     net.Conn                // beneath inlet
	raw      syscall.RawConn         // beneath conn; nil: there is something in between
	c        *conn                   // nil: only says why it was refused
	gone     func()                  // ends what it counts as for its address
	receive  func(text string) error // takes one message
	deadline *peer.WriteDeadline     // of write: nil before it first runs
	relied   bool                    // of the reader: the client has no other transport
	greeted  bool                    // of the reader: a first frame of text was there
	begun    bool                    // of the reader: a message has begun and not ended
	until    time.Time               // of the reader: when the peer must have been heard

	mu      sync.Mutex
	live    bool     // takes from the outbox of c
	queue   [][]byte // messages that are not from the outbox and come before it
	ping    bool     // a ping is due
	pong    []byte   // the payload of a ping that was not answered yet
	ended   bool     // bye is set: what there is goes out, then it closes
	bye     goodbye
	cutoff  time.Time // of writing, once ended
	dirty   bool      // there may be something to write
	writing bool      // a courier or write is at it, or write has run for the last time
	pinger  *time.Timer
	writers sync.WaitGroup
}

func newSocket(rt *realtime, ws *websocket.Conn, c *conn) *socket {
	in := ws.NetConn().(*inlet)
	s := &socket{rt: rt, ws: ws, inlet: in, conn: in.Conn, raw: rawConn(in.Conn), c: c}
	in.s = s
	ws.SetReadLimit(int64(rt.maxMessage()))
	ws.SetPingHandler(s.pinged)
	ws.SetPongHandler(s.ponged)
	ws.SetCloseHandler(func(int, string) error { return nil }) // run answers it
	return s
}

// start begins to read. Without ok the conn was closed meanwhile.
func (s *socket) start(ok bool) {
	if !ok {
		s.end(goingAway)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.pinger = time.AfterFunc(pingEvery, s.pingDue)
		s.until = time.Now().Add(firstMessage)
		s.conn.SetReadDeadline(s.until)
	}
	go s.run()
}

// run reads until the connection ends, and cleans up after it.
func (s *socket) run() {
	defer s.rt.removeSocket(s)
	bye := s.read()
	if bye.code == 0 {
		s.end(bye)
	}
	if s.c != nil {
		s.c.lost(s, s.relied, bye)
	}
	s.end(bye)
	s.writers.Wait()
	s.waitForPeer()
	s.conn.Close()
	if s.isLive() {
		s.c.cancel()
		s.c.out.Close()
	}
}

// waitForPeer lets the peer close first. To close while it is still sending
// could make its network drop our last frames unread.
func (s *socket) waitForPeer() {
	if s.bye.code == 0 {
		return
	}
	if half, ok := s.conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	s.conn.SetReadDeadline(time.Now().Add(linger))
	io.CopyN(io.Discard, s.conn, 1<<20)
}

// read takes messages until there is a reason to end.
func (s *socket) read() (bye goodbye) {
	defer func() {
		if p := recover(); p != nil {
			s.rt.panicked("read", p)
			bye = crashed
		}
	}()
	in := collector{held: limit.Hold{Of: s.bodies()}}
	in.frames.MaxBytes = s.rt.maxMessage()
	defer in.forget()
	for {
		text, err := s.next(&in)
		if err != nil {
			return s.broken(err)
		}
		piece := in.frames.InPieces()
		msg, done, err := in.add(text)
		if err == nil && countsAsMessage(text, piece, done) {
			err = s.keepPace()
		}
		if err == nil && done {
			err = s.receive(msg)
			in.forget()
		}
		if err != nil {
			return s.broken(err)
		}
	}
}

// broken returns why reading ended. If the server ended the socket, the reader's deadline
// was cut short for that, and the client did nothing wrong.
func (s *socket) broken(err error) goodbye {
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		if bye, ended := s.goodbye(); ended {
			return bye
		}
	}
	return s.rt.countEnd(s.explain(err), s.from())
}

// goodbye returns why the server ended the socket, if it did.
func (s *socket) goodbye() (bye goodbye, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bye, s.ended
}

// explain turns an error of reading into a goodbye.
func (s *socket) explain(err error) goodbye {
	var bye goodbye
	var closed *websocket.CloseError
	var network net.Error
	switch {
	case errors.As(err, &bye):
		return bye
	case errors.As(err, &closed):
		if closed.Code == websocket.CloseAbnormalClosure {
			return dropped
		}
		return left
	case errors.As(err, &network):
		if network.Timeout() {
			return silent
		}
		return dropped
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe):
		return dropped
	case errors.Is(err, websocket.ErrReadLimit):
		return goodbye{closeTooBig, "a message is too large"}
	}
	return goodbye{closeProtocolError, strings.TrimPrefix(err.Error(), "websocket: ")}
}

// ponged hears an answer to a ping. It costs as much as a message, whoever asked for it.
func (s *socket) ponged(string) error {
	if err := s.keepPace(); err != nil {
		return err
	}
	s.waitLonger()
	return nil
}

// pinged notes what to answer. Only the last ping needs an answer (RFC 6455
// §5.5.3).
func (s *socket) pinged(payload string) error {
	if err := s.keepPace(); err != nil {
		return err
	}
	s.waitLonger()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pong = append(make([]byte, 0, len(payload)), payload...)
	s.startWriter()
	return nil
}

func (s *socket) pingDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ping = true
	s.startWriter()
	s.pinger.Reset(pingEvery)
}

// control acts on a control message: a ping wants an answer, all others mean
// nothing here (protocol §3).
func (s *socket) control(typ string) error {
	if typ == wire.ControlPing {
		s.c.out.PushFrame(wire.AppendControl(nil, wire.ControlPong, "null"))
	}
	return nil
}

// end makes the socket close: after it has written what there is and a close
// frame, or with code 0 as soon as possible. It does not wait.
func (s *socket) end(bye goodbye) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended, s.bye = true, bye
	s.cutoff = time.Now().Add(linger)
	if s.pinger != nil {
		s.pinger.Stop()
	}
	if bye.code == 0 {
		s.conn.Close()
		return
	}
	s.conn.SetReadDeadline(time.Unix(1, 0)) // the reader is done
	s.conn.SetWriteDeadline(s.cutoff)       // of a write that is under way, too
	s.startWriter()
}
