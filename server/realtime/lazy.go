package realtime

import (
	"io"
	"sync"
)

// A lazyReader has what was read before the library asked for it. So a connection waits
// for its next message before anything is called for it: the goroutine of an idle one has
// a small stack, and no buffer.
type lazyReader struct {
	buf  *readBuffer // in which left is; nil: there is nothing
	left []byte      // not yet asked for

	try func(fd uintptr) bool // tryRead, which reads into buf and leaves n and err
	n   int
	err error
}

// take reads from what there is.
func (e *lazyReader) take(p []byte) int {
	n := copy(p, e.left)
	if e.left = e.left[n:]; len(e.left) == 0 {
		e.drop()
	}
	return n
}

// drop gives the buffer back.
func (e *lazyReader) drop() {
	if e.buf != nil {
		readBuffers.Put(e.buf)
		e.buf, e.left = nil, nil
	}
}

// fetched turns what a system call said into what a reader says.
func fetched(n int, err error) error {
	if n == 0 && err == nil {
		return io.EOF
	}
	return err
}

// A readBuffer is large enough to see the end of a small message.
type readBuffer [smallMessage + 1]byte

var readBuffers = sync.Pool{New: func() any { return new(readBuffer) }}
