package server

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

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
		return "", goodbye{closeUnsupported, "messages are text"}
	}
	s.begun = true
	text, err := readText(r, in)
	s.begun = false
	if err != nil {
		return "", err
	}
	if !utf8.ValidString(text) {
		return "", goodbye{closeBadText, "a message is not UTF-8"}
	}
	s.greeted = true
	return text, nil
}

// readText reads a whole frame. It keeps no more than a step beyond what the
// meter of in has granted, whatever length the frame claims. Most frames take
// one step, which allocates nothing but the text.
func readText(r io.Reader, in *collector) (string, error) {
	p := steps.Get().(*step)
	defer steps.Put(p)
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

// A step has room to see the end of a small message.
type step [smallMessage + 1]byte

var steps = sync.Pool{New: func() any { return new(step) }}

// waitLonger gives the peer another while to be heard, unless it is in the
// middle of a message: one that holds memory has a fixed time to arrive. While something
// that was read ahead is left, the deadline is set later, if more has to be read.
func (s *socket) waitLonger() {
	if !s.greeted || s.begun {
		return
	}
	s.until = time.Now().Add(silence)
	if len(s.inlet.early.left) == 0 && s.inlet.br.Buffered() == 0 {
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

// waitForMore sets the deadline for the rest of what was read ahead. The peer has a while
// to go on with a message that has begun.
func (s *socket) waitForMore() {
	next := s.until
	if s.begun {
		if soon := time.Now().Add(stalled); soon.Before(next) {
			next = soon
		}
	}
	s.waitUntil(next)
}

func (in *inlet) Write(p []byte) (int, error) {
	if in.s != nil {
		return len(p), nil
	}
	return in.Conn.Write(p)
}

func (in *inlet) SetWriteDeadline(t time.Time) error {
	if in.s != nil {
		return nil // it is the socket that writes
	}
	return in.Conn.SetWriteDeadline(t)
}

// An inletWriter lets the library take over the connection as an inlet.
type inletWriter struct {
	http.ResponseWriter
	conn net.Conn // once it was taken over
}

func (w *inletWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.conn = conn
	if rw.Reader.Buffered() > 0 {
		return conn, rw, nil // too early, as the library will say
	}
	in := newInlet(conn)
	return in, bufio.NewReadWriter(in.br, rw.Writer), nil
}
