package bare

import (
	"bufio"
	"encoding/binary"
	"errors"
	"math"
	"net"
	"net/http"
	"sync"
)

// maxWaiting is how much waits to be written to a socket at most.
const maxWaiting = 64 << 10

// A socket keeps what is written to it until it is flushed, or there is much.
type socket struct {
	net.Conn
	beforeRead func() // called whenever there is nothing left to be read at once

	mu      sync.Mutex // guards waiting, and is held while it is written
	waiting []byte
}

// Read waits for bytes.
func (s *socket) Read(p []byte) (int, error) {
	s.beforeRead()
	return s.Conn.Read(p)
}

// Write queues bytes. A call has whole frames.
func (s *socket) Write(p []byte) (int, error) {
	s.add(p)
	return len(p), nil
}

// add queues a frame and reports whether it is the first to wait. Errors are
// left to readers: whatever ends a connection ends their wait.
func (s *socket) add(frame []byte) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = len(s.waiting) == 0
	if s.waiting = append(s.waiting, frame...); len(s.waiting) >= maxWaiting {
		_ = s.flushLocked()
	}
	return first
}

// flush writes what waits, in one call.
func (s *socket) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flushLocked()
}

func (s *socket) flushLocked() error {
	if len(s.waiting) == 0 {
		return nil
	}
	_, err := s.Conn.Write(s.waiting)
	s.waiting = s.waiting[:0]
	return err
}

// appendFrame appends the frame of a text (RFC 6455 §5.2). The library makes
// one for each receiver, which costs more than half of a delivery; receivers of
// the same message share this one.
func appendFrame(dst, text []byte) []byte {
	const final, opText = 0x80, 0x1
	dst = append(dst, final|opText)
	switch n := len(text); {
	case n < 126:
		dst = append(dst, byte(n))
	case n <= math.MaxUint16:
		dst = binary.BigEndian.AppendUint16(append(dst, 126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 127), uint64(n))
	}
	return append(dst, text...)
}

// A hijacker gives the upgrader a socket in place of the connection.
type hijacker struct {
	http.ResponseWriter
	client *client
}

// Hijack takes the connection over from the HTTP server.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	under, ok := h.ResponseWriter.(http.Hijacker)
	if !ok {
		return nil, nil, errors.New("the connection cannot be taken over")
	}
	c, brw, err := under.Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.client.socket = &socket{Conn: c, beforeRead: h.client.settle}
	return h.client.socket, brw, nil
}
