//go:build !unix

package realtime

import (
	"net"
	"syscall"
)

// rawConn returns nil: reads and writes without waiting are not available here, so
// each socket does it in goroutines of its own.
func rawConn(net.Conn) syscall.RawConn { return nil }

func (b *writeBuffer) writeTo(syscall.RawConn) error { return errMustWait }

func (e *lazyReader) fetch(syscall.RawConn) error { return fetched(0, nil) }
