//go:build !unix

package realtime

import (
	"net"
	"syscall"
)

// rawConn returns nil: this system cannot read and write without waiting, so each socket
// has goroutines of its own for that.
func rawConn(net.Conn) syscall.RawConn { return nil }

func (b *writeBuffer) writeTo(syscall.RawConn) error { return errMustWait }

func (in *input) fetchRaw() error { return errMustWait }
