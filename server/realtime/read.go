package realtime

import (
	"errors"
	"io"
	"net"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// next reads the text of one frame or, if a client splits it that far, of one
// message of WebSockets.
func (s *socket) next(in *collector) (string, error) {
	s.waitLonger()
	if err := s.await(); err != nil {
		return "", err
	}
	kind, r, err := s.ws.NextReader()
	if err != nil {
		return "", err
	}
	if kind != websocket.TextMessage {
		return "", closeReason{closeUnsupported, "messages are text"}
	}
	s.begun = true
	text, err := readText(r, in)
	s.begun = false
	if err != nil {
		return "", err
	}
	if !utf8.ValidString(text) {
		return "", closeReason{closeBadText, "a message is not UTF-8"}
	}
	s.greeted = true
	return text, nil
}

// readText reads a whole frame. It keeps no more than a readBuffer beyond what the
// meter of in has granted, whatever length the frame claims. Most frames fit
// into one, which allocates nothing but the text.
func readText(r io.Reader, in *collector) (string, error) {
	p := readBuffers.Get().(*readBuffer)
	defer readBuffers.Put(p)
	var text []byte
	for {
		n, err := fill(r, p[:])
		switch {
		case err != nil && err != io.EOF:
			return "", err
		case err == io.EOF && len(text) == 0:
			return string(p[:n]), nil
		}
		var full error
		if text, full = in.grow(text, n); full != nil {
			return "", full
		}
		text = append(text, p[:n]...)
		if err == io.EOF {
			return piecewise.Own(text), nil
		}
	}
}

// fill reads until p is full. Unlike io.ReadFull it tells the end of a frame,
// io.EOF, from that of a connection.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	return n, err
}

// waitLonger gives the client another while to be heard, unless it is in the
// middle of a message: one that holds memory has a fixed time to arrive. While something
// that was read ahead is left, the deadline is set later, if more has to be read.
func (s *socket) waitLonger() {
	if !s.greeted || s.begun {
		return
	}
	s.until = time.Now().Add(Silence)
	if len(s.library.lazy.left) == 0 && s.library.br.Buffered() == 0 {
		s.waitUntil(s.until)
	}
}

// waitUntil sets the deadline of reading, but not that of a socket that has ended.
func (s *socket) waitUntil(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.conn.SetReadDeadline(t)
	}
}

// waitForMore sets the deadline for the rest of what was read ahead. The client has a while
// to go on with a message that has begun.
func (s *socket) waitForMore() {
	next := s.until
	if s.begun {
		if soon := time.Now().Add(Stalled); soon.Before(next) {
			next = soon
		}
	}
	s.waitUntil(next)
}

// countsAsMessage reports whether a frame of text counts as a message. One that comes in
// pieces counts with its first frame, which has their number, and its pieces do not: they
// cost by their bytes. But no client makes short ones, save the last.
func countsAsMessage(text string, piece, last bool) bool {
	return !piece || !last && len(text) <= smallMessage
}

// await waits for the first bytes of a frame, where that can be done. It must be
// called between messages. Answers to pings need no library.
func (s *socket) await() error {
	e := &s.library.lazy
	for s.raw != nil && s.library.br.Buffered() == 0 {
		for isEmptyPong(e.left) {
			if err := s.ponged(""); err != nil {
				return err
			}
			if e.left = e.left[pongLen:]; len(e.left) == 0 {
				e.drop()
			}
		}
		if len(e.left) > 0 {
			return nil
		}
		if err := e.fetch(s.raw); err != nil {
			return err
		}
		s.rt.opts.Metrics.Sockets.Received(len(e.left))
	}
	return nil
}

// start begins to read. Without ok the conn was closed meanwhile.
func (s *socket) start(ok bool) {
	if !ok {
		s.end(goingAway)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.pinger = time.AfterFunc(PingEvery, s.pingDue)
		s.until = time.Now().Add(FirstMessage)
		s.conn.SetReadDeadline(s.until)
	}
	go s.run()
}

// run reads until the connection ends, and cleans up after it.
func (s *socket) run() {
	defer s.rt.removeSocket(s)
	reason := s.read()
	if reason.code == 0 {
		s.end(reason)
	}
	if s.c != nil {
		s.c.lost(s, s.relied, reason)
	}
	s.end(reason)
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
	if s.reason.code == 0 {
		return
	}
	if half, ok := s.conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	s.conn.SetReadDeadline(time.Now().Add(Linger))
	io.CopyN(io.Discard, s.conn, 1<<20)
}

// read takes messages until there is a reason to end.
func (s *socket) read() (reason closeReason) {
	defer func() {
		if p := recover(); p != nil {
			s.rt.panicked("read", p)
			reason = crashed
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
			err = s.keepRate()
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
func (s *socket) broken(err error) closeReason {
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		if reason, ended := s.endReason(); ended {
			return reason
		}
	}
	return s.rt.countEnd(s.explain(err), s.from())
}

// endReason returns why the server ended the socket, if it did.
func (s *socket) endReason() (reason closeReason, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason, s.ended
}

// explain turns an error of reading into a closeReason.
func (s *socket) explain(err error) closeReason {
	var reason closeReason
	var closed *websocket.CloseError
	var network net.Error
	switch {
	case errors.As(err, &reason):
		return reason
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
		return closeReason{closeTooBig, "a message is too large"}
	}
	return closeReason{closeProtocolError, strings.TrimPrefix(err.Error(), "websocket: ")}
}

// pongLen is the length of the answer to a ping of ours, which is empty but for
// the mask.
const pongLen = 6

func isEmptyPong(b []byte) bool {
	return len(b) >= pongLen && b[0] == final|opPong && b[1] == 0x80
}
