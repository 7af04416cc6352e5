package wire

import (
	"fmt"
	"strconv"

	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// DefaultMaxBytes is the largest message, in bytes of UTF-8, that a Collector
// and a Reassembler accept unless told otherwise: 16 MiB of data
// (protocol §6.1) and some room for the envelope.
const DefaultMaxBytes = 16<<20 + 64<<10

// A Collector puts the messages of one WebSocket back together (protocol §1.2,
// receive rules). The zero Collector is ready.
//
// It keeps at most MaxBytes of text and, however small the pieces, at most
// MaxPieces of them (more only if MaxBytes needs more). A count costs nothing
// until the pieces are there.
type Collector struct {
	MaxBytes int // largest message in bytes; 0 is DefaultMaxBytes

	pieces []string
	left   int // pieces still to come; 0 when not collecting
	size   int // bytes in pieces
	err    error
}

// Add takes the next frame. With done it returns a whole message; otherwise
// the frame was a keep-alive, a count or a piece. Errors wrap ErrTooLarge or
// ErrBadFrame; after the first one every call returns it again.
func (c *Collector) Add(text string) (msg string, done bool, err error) {
	switch {
	case c.err != nil:
		return "", false, c.err
	case c.left > 0:
		return c.piece(text)
	case text == "0":
		return "", false, nil
	case isCount(text):
		return "", false, c.begin(text)
	case len(text) > c.maxBytes():
		return "", false, c.fail(fmt.Errorf("%w: %d bytes", ErrTooLarge, len(text)))
	}
	return text, true, nil
}

// InPieces reports whether the next frame is a piece of a message.
func (c *Collector) InPieces() bool { return c.left > 0 }

// begin starts to collect. A count of one is not sent by any client but does
// no harm.
func (c *Collector) begin(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil || n == 0 {
		return c.fail(fmt.Errorf("%w: count %s", ErrBadFrame, count))
	}
	if n > max(MaxPieces, c.maxBytes()/MaxUnit+1) {
		return c.fail(fmt.Errorf("%w: count %d", ErrTooLarge, n))
	}
	c.left = n
	return nil
}

// piece appends text verbatim; it may well look like a number.
func (c *Collector) piece(text string) (msg string, done bool, err error) {
	if c.size += len(text); c.size > c.maxBytes() {
		return "", false, c.fail(fmt.Errorf("%w: over %d bytes in pieces", ErrTooLarge, c.maxBytes()))
	}
	c.pieces = append(c.pieces, text)
	if c.left--; c.left > 0 {
		return "", false, nil
	}
	msg = piecewise.Join(c.pieces...)
	c.pieces, c.size = nil, 0
	return msg, true, nil
}

func (c *Collector) fail(err error) error {
	c.err, c.pieces = err, nil
	return err
}

func (c *Collector) maxBytes() int {
	if c.MaxBytes > 0 {
		return c.MaxBytes
	}
	return DefaultMaxBytes
}

// isCount reports whether a frame outside of a collection is a piece count (or
// a keep-alive): one to six digits.
func isCount(text string) bool {
	return len(text) <= 6 && isDigits(text)
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
