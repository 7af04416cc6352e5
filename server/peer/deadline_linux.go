package peer

import (
	"net"

	"golang.org/x/sys/unix"
)

// tellsAcknowledged is whether acknowledged knows.
const tellsAcknowledged = true

// maxUnsent is how much of what was written to a connection waits in the system
// until it may be sent. Without a bound it is up to 4 MiB for each client that
// does not read. What is on its way is not bounded, so throughput does not suffer
// from it as it does from a small buffer (SO_SNDBUF).
const maxUnsent = 128 << 10

// boundUnsent applies maxUnsent.
func boundUnsent(c *net.TCPConn) error {
	return withDescriptor(c, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent)
	})
}

// acknowledged returns how many bytes the other side has confirmed to have, which
// without reading are no more than its buffer holds.
func acknowledged(c *net.TCPConn) (n int64, ok bool) {
	err := withDescriptor(c, func(fd int) error {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			n = int64(info.Bytes_acked)
		}
		return err
	})
	return n, err == nil
}

// withDescriptor calls f with the descriptor of a connection.
func withDescriptor(c *net.TCPConn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}
