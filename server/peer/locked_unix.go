//go:build unix

package peer

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// readLocked reads what has come, as c.Read does, but holds mu meanwhile. It does not hold it while
// it waits.
func readLocked(c *net.TCPConn, p []byte, mu *sync.Mutex) (n int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		mu.Lock()
		defer mu.Unlock()
		for n, failed = syscall.Read(int(fd), p); failed == syscall.EINTR; {
			n, failed = syscall.Read(int(fd), p)
		}
		return failed != syscall.EAGAIN
	})
	switch {
	case err != nil:
		return 0, err
	case failed != nil:
		return 0, &net.OpError{Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError("read", failed)}
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}
