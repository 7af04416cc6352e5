package wire

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// DecodeWebSafe decodes the base64 of a whole message (protocol §14): alphabet
// with - and _, padded with dots by browsers; equals signs and no padding are
// accepted too. Bytes that are not UTF-8 become U+FFFD, as on a WebSocket.
// Errors wrap ErrBadFrame.
func DecodeWebSafe(text string) (string, error) {
	var d webSafe
	if err := d.add(text, true); err != nil {
		return "", err
	}
	msg, _ := d.message()
	return msg, nil
}

// A webSafe decodes a message while it arrives in pieces, so it keeps three quarters of their
// length and no second copy is needed in the end.
type webSafe struct {
	bytes []byte // decoded
	rest  string // characters that are not decoded yet: less than four, and padding
	chars int    // that were added
}

// maxPadding is the most characters of padding, at the end of a message.
const maxPadding = 2

// add decodes the next characters. last says that there are no more.
func (d *webSafe) add(text string, last bool) error {
	d.chars += len(text)
	if d.rest != "" {
		text = d.rest + text
	}
	body := strings.TrimRight(text, ".=")
	padding := len(text) - len(body)
	if padding > maxPadding || last && padding > 0 && len(text)%4 != 0 {
		return fmt.Errorf("%w: %d characters of padding", ErrBadFrame, padding)
	}
	if strings.ContainsAny(body, "\r\n") {
		return fmt.Errorf("%w: line break in base64", ErrBadFrame) // the decoder would skip it
	}
	if !last {
		body = body[:len(body)/4*4]
	}
	d.rest = strings.Clone(text[len(body):])
	return d.decode(body)
}

func (d *webSafe) decode(text string) (err error) {
	n := base64.RawURLEncoding.DecodedLen(len(text))
	d.bytes = piecewise.Grow(d.bytes, n)
	d.bytes, err = base64.RawURLEncoding.AppendDecode(d.bytes, []byte(text))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadFrame, err)
	}
	return nil
}

// message returns the message, after the last characters were added, and how many there were.
func (d *webSafe) message() (msg string, chars int) {
	return strings.ToValidUTF8(piecewise.Own(d.bytes), "\uFFFD"), d.chars
}
