package realtime

import (
	"net"
	"sync"
	"syscall"
)

// An input is what a client sends, read ahead as far as it has arrived. While nothing has
// there is no buffer, and await waits without deep calls: the goroutine of an idle connection
// has a small stack. The raw read happens inside of the wait, so the buffer is taken only
// when bytes are there.
type input struct {
	conn     net.Conn
	raw      syscall.RawConn // beneath conn; nil: there is something in between
	before   func()          // is called before what may wait for the network
	received func(n int)     // counts bytes

	buf  *readBuffer // in which left is; nil: one
	left []byte      // read ahead
	one  [1]byte     // in which left is if buf is nil

	try func(fd uintptr) bool // tryRead, which reads into buf and leaves n and err
	n   int
	err error
}

// A readBuffer is large enough to see the end of a small message.
type readBuffer [smallMessage + 1]byte

var readBuffers = sync.Pool{New: func() any { return new(readBuffer) }}

// await waits until something is there.
func (in *input) await() (err error) {
	switch {
	case len(in.left) > 0:
	case in.raw != nil:
		err = in.fetch()
	default:
		n := 0
		n, err = in.receive(in.one[:])
		in.left = in.one[:n]
	}
	return err
}

// Read implements io.Reader. Of what is short, more than p takes is read ahead: small
// messages that come one behind the other take few system calls.
func (in *input) Read(p []byte) (int, error) {
	if len(in.left) == 0 {
		if len(p) >= len(readBuffer{}) {
			return in.receive(p)
		}
		if err := in.fetch(); len(in.left) == 0 {
			return 0, err
		}
	}
	n := copy(p, in.left)
	if in.left = in.left[n:]; len(in.left) == 0 {
		in.drop()
	}
	return n, nil
}

func (in *input) receive(p []byte) (int, error) {
	in.before()
	n, err := in.conn.Read(p)
	in.received(n)
	return n, err
}

// fetch reads ahead what there is, and waits until there is something. left can be there
// together with an error, as at the end of TLS connections.
func (in *input) fetch() error {
	if in.raw != nil {
		in.before()
		err := in.fetchRaw()
		in.received(len(in.left))
		return err
	}
	in.buf = readBuffers.Get().(*readBuffer)
	n, err := in.receive(in.buf[:])
	if in.left = in.buf[:n]; n == 0 {
		in.drop()
	}
	return err
}

// drop gives the buffer back.
func (in *input) drop() {
	if in.buf != nil {
		readBuffers.Put(in.buf)
	}
	in.buf, in.left = nil, nil
}
