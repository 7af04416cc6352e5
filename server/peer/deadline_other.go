//go:build !linux

package peer

import "net"

// tellsAcknowledged is whether acknowledged knows. Here what is written counts as
// taken, which comes to the same with small buffers and small pieces.
const tellsAcknowledged = false

// maxUnsent is the size of the system's buffer for what was written to a
// connection.
const maxUnsent = 256 << 10

// boundUnsent applies maxUnsent.
func boundUnsent(c *net.TCPConn) error { return c.SetWriteBuffer(maxUnsent) }

func acknowledged(*net.TCPConn) (n int64, ok bool) { return 0, false }
