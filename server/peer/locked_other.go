//go:build !unix

package peer

import (
	"net"
	"sync"
)

func readLocked(c *net.TCPConn, p []byte, _ *sync.Mutex) (int, error) { return c.Read(p) }
