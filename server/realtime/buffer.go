package realtime

import "sync"

// A writeBuffer collects frames for one system call. Those that are not in use are
// kept for other sockets, so a connection has none while it is idle.
type writeBuffer struct {
	buf    []byte
	msgs   [][]byte // of the writers of the pool
	frames [][]byte // of the message that is being framed

	try func(fd uintptr) bool // tryWrite, which says what it did in n and err
	n   int
	err error
}

// bufferSize is large enough for any frame, which is what keeps writeMessages
// simple. Larger ones were not faster on loopback (BenchmarkSocketWrite).
const (
	bufferSize = 64 << 10
	maxControl = 2 * (2 + 125) // a ping and a pong, or a close frame
)

var writeBuffers = sync.Pool{New: func() any {
	return &writeBuffer{buf: make([]byte, 0, bufferSize)}
}}

// fits reports whether a frame and control frames can be added.
func (b *writeBuffer) fits(frame []byte) bool {
	return len(b.buf)+maxHeader+len(frame)+maxControl <= bufferSize
}

func (b *writeBuffer) release() {
	if cap(b.buf) > bufferSize {
		return // it was more than expected, and is not worth keeping
	}
	clear(b.msgs[:cap(b.msgs)])
	clear(b.frames[:cap(b.frames)])
	if cap(b.frames) > 64 {
		b.frames = nil // of a large message
	}
	b.buf = b.buf[:0]
	writeBuffers.Put(b)
}
