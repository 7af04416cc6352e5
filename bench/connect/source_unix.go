//go:build unix

package connect

import (
	"io"
	"syscall"
)

// poll makes the source one that does not wait. It reports whether it can.
func (s *source) poll() bool {
	conn, ok := s.net.(syscall.Conn)
	if !ok {
		return false // TLS
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	s.raw, s.try = raw, s.tryRead
	return true
}

// readNow reads what has arrived.
func (s *source) readNow(p []byte) (int, error) {
	s.p = p
	err := s.raw.Read(s.try)
	s.p = nil
	switch {
	case err != nil:
		return 0, err
	case s.err == syscall.EAGAIN:
		return 0, errNotYet
	case s.err != nil:
		return 0, s.err
	case s.n == 0:
		return 0, io.EOF
	}
	return s.n, nil
}

func (s *source) tryRead(fd uintptr) bool {
	for {
		s.n, s.err = syscall.Read(int(fd), s.p)
		if s.err != syscall.EINTR {
			return true
		}
	}
}
