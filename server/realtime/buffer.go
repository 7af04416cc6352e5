package realtime

import "sync"

// A writeBuffer collects frames for one system call. Those that are not in use are kept
// for other sockets, so a connection has none while it is idle. It belongs to a goroutine
// that writes and not to a socket, so there are as many as writers.
type writeBuffer struct {
	buf    []byte
	msgs   [][]byte // of the writers of the pool
	frames [][]byte // of the message that is being framed
	sent   int      // bytes, by the writers of the pool, that were not counted yet

	try func(fd uintptr) bool // tryWrite, which says what it did in n and err
	n   int
	err error
}

// bufferSize is large enough for any frame. Larger ones were not faster on loopback
// (BenchmarkSocketWrite). Goroutines that wait for a slow socket are as many as there are
// such sockets, so they have buffers of waitingSize, which grow for a larger frame.
const (
	bufferSize  = 64 << 10
	waitingSize = 20 << 10
	maxControl  = 2 * (2 + 125) // a ping and a pong, or a close frame
)

var (
	writeBuffers   = newBuffers(bufferSize)  // of the writers of the pool
	waitingBuffers = newBuffers(waitingSize) // of goroutines that wait
)

func newBuffers(size int) sync.Pool {
	return sync.Pool{New: func() any {
		return &writeBuffer{buf: make([]byte, 0, size)}
	}}
}

// fits reports whether a frame and control frames can be added.
func (b *writeBuffer) fits(frame []byte) bool {
	return len(b.buf)+maxHeader+len(frame)+maxControl <= cap(b.buf)
}

// release gives a buffer of a size back to where it came from.
func (b *writeBuffer) release(to *sync.Pool, size int) {
	if cap(b.buf) > size {
		return // it was more than expected, and is not worth keeping
	}
	clear(b.msgs[:cap(b.msgs)])
	clear(b.frames[:cap(b.frames)])
	if cap(b.frames) > 64 {
		b.frames = nil // of a large message
	}
	b.buf = b.buf[:0]
	to.Put(b)
}
