//go:build unix

package realtime

import (
	"io"
	"net"
	"syscall"
)

// rawConn returns what reads and writes without waiting, nil if there is something
// in between, such as TLS.
func rawConn(c net.Conn) syscall.RawConn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// writeTo writes as much of b as the network takes at once. With errMustWait the
// rest is left in b. Deadlines mean nothing here, and one that is set may be over.
func (b *writeBuffer) writeTo(raw syscall.RawConn) error {
	if b.try == nil {
		b.try = b.tryWrite
	}
	b.n, b.err = 0, nil
	if err := raw.Write(b.try); err != nil {
		return err
	}
	b.buf = b.buf[:copy(b.buf, b.buf[max(b.n, 0):])]
	switch {
	case b.err == syscall.EAGAIN, b.err == nil && len(b.buf) > 0:
		return errMustWait
	}
	return b.err
}

// tryWrite makes the system call. It always returns true, so RawConn.Write never waits for
// the socket.
func (b *writeBuffer) tryWrite(fd uintptr) bool {
	for {
		b.n, b.err = syscall.Write(int(fd), b.buf)
		if b.err != syscall.EINTR {
			return true
		}
	}
}

// fetchRaw waits for something to arrive. There is a buffer only then.
func (in *input) fetchRaw() error {
	if in.try == nil {
		in.try = in.tryRead
	}
	if err := in.raw.Read(in.try); err != nil {
		return err
	}
	if in.n == 0 && in.err == nil {
		return io.EOF
	}
	return in.err
}

func (in *input) tryRead(fd uintptr) bool {
	in.buf = readBuffers.Get().(*readBuffer)
	for {
		in.n, in.err = syscall.Read(int(fd), in.buf[:])
		switch {
		case in.err == syscall.EINTR:
			continue
		case in.n > 0:
			in.left = in.buf[:in.n]
			return true
		}
		in.drop()
		return in.err != syscall.EAGAIN
	}
}
