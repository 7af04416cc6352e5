package connect

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// WebSocket framing (RFC 6455 §5.2), as a client needs it.
const (
	opContinue = 0x0
	opText     = 0x1
	opBinary   = 0x2
	opClose    = 0x8
	opPing     = 0x9
	opPong     = 0xA

	final  = 0x80
	masked = 0x80
)

// maxFrame bounds one frame of a server, and one message in continued frames.
const maxFrame = 512 << 20

// appendFrame appends one frame. Clients must mask what they send; a mask of
// zeros leaves the payload as it is, which costs nothing. Masks are there for
// scripts in browsers, which must not choose what is on the wire.
func appendFrame(dst []byte, op byte, payload []byte) []byte {
	dst = append(dst, final|op)
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, masked|byte(n))
	case n < 1<<16:
		dst = append(dst, masked|126)
		dst = binary.BigEndian.AppendUint16(dst, uint16(n))
	default:
		dst = append(dst, masked|127)
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	dst = append(dst, 0, 0, 0, 0)
	return append(dst, payload...)
}

// A frameReader reads the frames of a server. Payloads that fit into its buffer
// are handed out where they lie.
type frameReader struct {
	br    *bufio.Reader
	large []byte // of a payload that did not fit, used again
	taken int    // bytes of the buffer that the last frame occupies

	wait func() (undo func()) // makes br wait for what it reads; nil: it always does
}

var errBadFrame = errors.New("bad frame")

// next returns the next frame. The payload is valid until the next call. After an
// error of reading that passes, it can be called again.
func (f *frameReader) next() (op byte, fin bool, payload []byte, err error) {
	if _, err := f.br.Discard(f.taken); err != nil {
		return 0, false, nil, err
	}
	f.taken = 0
	head, err := f.br.Peek(2)
	if err != nil {
		return 0, false, nil, noEOF(err, len(head))
	}
	op, fin = head[0]&0x0F, head[0]&final != 0
	if head[0]&0x70 != 0 || head[1]&masked != 0 {
		return 0, false, nil, fmt.Errorf("%w: first bytes %x", errBadFrame, head)
	}
	size, length, err := f.length(int(head[1]))
	if err != nil {
		return 0, false, nil, err
	}
	payload, err = f.payload(size, length)
	return op, fin, payload, err
}

// length returns how long the header and the payload are.
func (f *frameReader) length(first int) (header, payload int, err error) {
	header = 2
	switch first {
	case 126:
		header += 2
	case 127:
		header += 8
	default:
		return header, first, nil
	}
	head, err := f.br.Peek(header)
	if err != nil {
		return 0, 0, noEOF(err, len(head))
	}
	n := uint64(binary.BigEndian.Uint16(head[2:]))
	if first == 127 {
		n = binary.BigEndian.Uint64(head[2:])
	}
	if n > maxFrame {
		return 0, 0, fmt.Errorf("%w: %d bytes", errBadFrame, n)
	}
	return header, int(n), nil
}

func (f *frameReader) payload(header, length int) ([]byte, error) {
	if header+length <= f.br.Size() {
		frame, err := f.br.Peek(header + length)
		if err != nil {
			return nil, noEOF(err, len(frame))
		}
		f.taken = header + length
		return frame[header:], nil
	}
	if _, err := f.br.Discard(header); err != nil {
		return nil, err
	}
	if cap(f.large) < length {
		f.large = make([]byte, length)
	}
	if f.wait != nil {
		defer f.wait()()
	}
	_, err := io.ReadFull(f.br, f.large[:length])
	return f.large[:length], err
}

// more reports whether something of the next frame has arrived already.
func (f *frameReader) more() bool { return f.br.Buffered() > f.taken }

// noEOF turns the end of a connection inside a frame into an error of its own.
func noEOF(err error, read int) error {
	if err == io.EOF && read > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
