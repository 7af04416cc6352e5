package realtime

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"unicode/utf8"
)

// maxControlPayload is the length of the longest payload of a control frame.
const maxControlPayload = 125

var tooLarge = closeReason{closeTooBig, "a message is too large"}

// A frameReader takes the frames of a client apart (RFC 6455 §5). next begins a message, and
// Read reads it to its end. Its errors are those of the connection and closeReasons.
//
// The library that does the handshake can read frames, too, and once did. But it keeps a
// buffer and its state for each connection, and it answers faulty frames itself, while a close
// frame has to come after the messages that are queued. So it had to be given a connection that
// dropped what it wrote.
//
// It reads at most the header ahead, and keeps the state of an unfinished message in a few
// words. Extensions are refused: compression would need a window for each connection.
type frameReader struct {
	in      input
	limit   int64                               // of the bytes of a message
	control func(op byte, payload []byte) error // acts on a control frame, and keeps the payload
	short   func() error                        // counts a short frame in the middle of a message

	left  int64 // of the payload of the frame that is being read
	more  bool  // that frame is not the last one of its message
	size  int64 // of the message so far
	mask  [4]byte
	pos   int      // in mask
	bytes [12]byte // of a header
}

// shortFrame is the length from which on the frames of a message cost by their bytes alone.
// Libraries that split messages make frames of their buffers, of 4 KiB or more.
const shortFrame = 1 << 10

// unfinished reports whether a message has begun and was not read to its end.
func (f *frameReader) unfinished() bool { return f.more || f.left > 0 }

// next reads the header of a frame, and all of a control frame. It returns the opcode.
func (f *frameReader) next() (op byte, err error) {
	head := f.bytes[:2]
	if _, err := io.ReadFull(&f.in, head); err != nil {
		return 0, cut(err)
	}
	first, op, length := head[0], head[0]&0xf, int64(head[1]&^masked)
	if fault := f.fault(first, op, head[1]); fault != "" {
		return 0, closeReason{closeProtocolError, fault}
	}
	if length, err = f.readHeader(length); err != nil {
		return 0, err
	}
	if op >= opClose {
		return op, f.readControl(op, length)
	}
	if !f.more {
		f.size = 0
	}
	if length > f.limit-f.size {
		return 0, tooLarge
	}
	f.more, f.left, f.size = first&final == 0, length, f.size+length
	return op, nil
}

// fault says what is wrong with the first two bytes of a frame, if anything is.
func (f *frameReader) fault(first, op, second byte) string {
	switch reserved := first & 0x70; {
	case reserved != 0:
		return fmt.Sprintf("RSV%d set", bits.LeadingZeros8(reserved))
	case op > opBinary && op < opClose || op > opPong:
		return fmt.Sprintf("bad opcode %d", op)
	case op >= opClose && second&^masked > maxControlPayload:
		return "len > 125 for control"
	case op >= opClose && first&final == 0:
		return "FIN not set on control"
	case op == opContinuation && !f.more:
		return "continuation after FIN"
	case op != opContinuation && op < opClose && f.more:
		return "data before FIN"
	case second&masked == 0:
		return "bad MASK"
	}
	return ""
}

// readHeader reads the rest of a header, and returns the length of the payload.
func (f *frameReader) readHeader(length int64) (int64, error) {
	n := 0 // bytes of the length
	switch length {
	case 126:
		n = 2
	case 127:
		n = 8
	}
	rest := f.bytes[:n+len(f.mask)]
	if _, err := io.ReadFull(&f.in, rest); err != nil {
		return 0, cut(err)
	}
	f.pos = copy(f.mask[:], rest[n:]) & 3
	switch n {
	case 2:
		length = int64(binary.BigEndian.Uint16(rest))
	case 8:
		if length = int64(binary.BigEndian.Uint64(rest)); length < 0 {
			return 0, tooLarge
		}
	}
	return length, nil
}

func (f *frameReader) readControl(op byte, length int64) error {
	payload := make([]byte, length)
	if _, err := io.ReadFull(&f.in, payload); err != nil {
		return cut(err)
	}
	f.unmask(payload)
	return f.control(op, payload)
}

// cut returns the error of a connection that ends. It is not io.EOF, which is the end of a
// message.
func cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return dropped
	}
	return err
}

// Read reads from the message that next began. io.EOF is its end.
func (f *frameReader) Read(p []byte) (int, error) {
	for f.left == 0 {
		if !f.more {
			return 0, io.EOF
		}
		if err := f.goOn(); err != nil {
			return 0, err
		}
	}
	n, err := f.in.Read(p[:min(int64(len(p)), f.left)])
	f.unmask(p[:n])
	f.left -= int64(n)
	return n, cut(err)
}

// goOn reads the header of the next frame of a message. A short one counts as a message, save the
// last: otherwise a client could send a message of headers alone, and would keep a processor busy
// for as long as a message may take.
func (f *frameReader) goOn() error {
	op, err := f.next()
	if err == nil && op == opContinuation && f.more && f.left < shortFrame {
		err = f.short()
	}
	return err
}

// unmask goes on with unmasking a payload.
func (f *frameReader) unmask(p []byte) {
	var key [8]byte
	for i := range key {
		key[i] = f.mask[(f.pos+i)&3]
	}
	f.pos = (f.pos + len(p)) & 3
	eight := binary.LittleEndian.Uint64(key[:])
	for ; len(p) >= 8; p = p[8:] {
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)^eight)
	}
	for i := range p {
		p[i] ^= key[i]
	}
}

// closeOf returns why a connection ends after a close frame: with a close frame of ours, or
// because of what is wrong with that of the client.
func closeOf(payload []byte) closeReason {
	if len(payload) < 2 {
		return left // half a code is none
	}
	switch code := binary.BigEndian.Uint16(payload); {
	case code < closeNormal, code > closeTryAgain && code < 3000, code >= 5000, code >= 1004 && code <= 1006:
		return closeReason{closeProtocolError, fmt.Sprint("bad close code ", code)}
	case !utf8.Valid(payload[2:]):
		return closeReason{closeProtocolError, "invalid utf8 payload in close frame"}
	}
	return left
}
