package server

import (
	"bufio"
	"io"
	"net"
)

// inletBuffer is the size of the library's read buffer, the smallest that it takes
// from others. Frames longer than it are read past it, and short ones have been
// read already by await.
const inletBuffer = 264

// early is what an inlet has read before the library asked for it. So a connection
// waits for its next message before anything is called for it: the goroutine of
// one that is idle then has a small stack, and no buffer.
type early struct {
	buf  *step  // in which left is; nil: there is nothing
	left []byte // not yet asked for

	try func(fd uintptr) bool // tryRead, which reads into buf and leaves n and err
	n   int
	err error
}

// take reads from what there is.
func (e *early) take(p []byte) int {
	n := copy(p, e.left)
	if e.left = e.left[n:]; len(e.left) == 0 {
		e.drop()
	}
	return n
}

// drop gives the buffer back.
func (e *early) drop() {
	if e.buf != nil {
		steps.Put(e.buf)
		e.buf, e.left = nil, nil
	}
}

// await waits for the first bytes of a frame, where that can be done. It must be
// called between messages. Answers to pings need no library.
func (s *socket) await() error {
	e := &s.inlet.early
	for s.raw != nil && s.inlet.br.Buffered() == 0 {
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
		s.rt.s.metrics.Sockets.Received(len(e.left))
	}
	return nil
}

// pongLen is the length of the answer to a ping of ours, which is empty but for
// the mask.
const pongLen = 6

func isEmptyPong(b []byte) bool {
	return len(b) >= pongLen && b[0] == final|opPong && b[1] == 0x80
}

// An inlet is a connection as the library sees it. Once there is a socket the
// library only reads: the close frames that it would send for bad frames are
// dropped, because the socket sends one itself, after all that is before it.
type inlet struct {
	net.Conn
	s     *socket       // nil during the handshake
	br    *bufio.Reader // the library's
	early early
}

func newInlet(conn net.Conn) *inlet {
	in := &inlet{Conn: conn}
	in.br = bufio.NewReaderSize(in, inletBuffer)
	return in
}

// Read is called for frames that were not read ahead, or not to their end, so that small
// messages do not set a deadline of their own. Of what is short, more than p takes is read
// ahead: small messages that come one behind the other take few system calls.
func (in *inlet) Read(p []byte) (int, error) {
	if len(in.early.left) > 0 {
		return in.early.take(p), nil
	}
	if in.s == nil {
		return in.Conn.Read(p)
	}
	in.s.waitForMore()
	received := in.s.rt.s.metrics.Sockets.Received
	if in.s.raw == nil || len(p) >= len(step{}) {
		n, err := in.Conn.Read(p)
		received(n)
		return n, err
	}
	err := in.early.fetch(in.s.raw)
	received(len(in.early.left))
	return in.early.take(p), err
}

// fetched turns what a system call said into what a reader says.
func fetched(n int, err error) error {
	if n == 0 && err == nil {
		return io.EOF
	}
	return err
}
