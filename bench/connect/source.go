package connect

import (
	"errors"
	"net"
	"syscall"
)

// errNotYet is returned by a source that does not wait. The next call goes on
// from there.
var errNotYet = errors.New("nothing has arrived")

// A source is what a Conn reads from. It waits for data unless a poller does.
type source struct {
	net   net.Conn
	raw   syscall.RawConn // nil: always waits
	ready bool            // polled: there may be something
	all   bool            // polled: the end may have come, too, so read until it is seen

	try func(fd uintptr) bool // tryRead, which reads into p and leaves n and err
	p   []byte
	n   int
	err error
}

func (s *source) Read(p []byte) (int, error) {
	if s.raw == nil {
		return s.net.Read(p)
	}
	if !s.ready {
		return 0, errNotYet
	}
	n, err := s.readNow(p)
	// A short read has emptied the connection: another read would return nothing.
	s.ready = err == nil && (s.all || n == len(p))
	return n, err
}

// wait makes the source wait until the returned function is called.
func (s *source) wait() (undo func()) {
	raw := s.raw
	s.raw = nil
	return func() { s.raw = raw }
}
