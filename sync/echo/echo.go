// Package echo is the answer to a write that is too long for memory: a text with holes for
// the values that are known only after the commit.
//
// The text is written before the commit, when it still can fail. What an increment comes to
// is decided in the commit, and how long its text is, too: so the text has neither its value
// nor room for it, and the two are joined when the text is sent.
package echo

import (
	"bytes"
	"io"
	"strconv"
	"strings"
)

// A Writer passes a text on without the marks that stand for unknown values. A mark is a JSON
// string: a prefix that no other string begins with, and the number of a value.
type Writer struct {
	to     io.Writer
	prefix []byte // with its quotation mark
	held   []byte // the end of the text so far: a mark may begin in it
	size   int64  // that was passed on
	holes  []hole
}

// A hole is where a mark was left out.
type hole struct {
	at     int64
	number int
}

// NewWriter returns a Writer for marks with a prefix, which needs no escapes.
func NewWriter(to io.Writer, prefix string) *Writer {
	return &Writer{to: to, prefix: []byte(`"` + prefix)}
}

// Write implements io.Writer. A mark may be in several pieces.
func (w *Writer) Write(p []byte) (int, error) {
	w.held = append(w.held, p...)
	for {
		at := bytes.Index(w.held, w.prefix)
		if at < 0 {
			return len(p), w.pass(len(w.held) - len(w.prefix) + 1)
		}
		if err := w.pass(at); err != nil {
			return 0, err
		}
		rest := w.held[len(w.prefix):]
		end := bytes.IndexByte(rest, '"')
		if end < 0 {
			return len(p), nil // it comes with the next piece
		}
		n, err := strconv.Atoi(string(rest[:end]))
		if err != nil {
			return 0, err
		}
		w.holes = append(w.holes, hole{w.size, n})
		w.held = w.held[:copy(w.held, rest[end+1:])]
	}
}

// Flush passes on what is held, at the end of the text.
func (w *Writer) Flush() error { return w.pass(len(w.held)) }

// pass passes on the first n bytes that are held, if n is positive.
func (w *Writer) pass(n int) error {
	if n <= 0 {
		return nil
	}
	_, err := w.to.Write(w.held[:n])
	w.held = w.held[:copy(w.held, w.held[n:])]
	w.size += int64(n)
	return err
}

// Values returns what belongs into the holes. text returns the value with a number.
func (w *Writer) Values(text func(number int) string) (values []Value) {
	for _, h := range w.holes {
		values = append(values, Value{h.at, text(h.number)})
	}
	return values
}

// A Value belongs into a hole of a text.
type Value struct {
	At   int64 // bytes of the text in front of it
	Text string
}

// Fill returns a text of size bytes with values in its holes, and how long that is.
func Fill(text io.Reader, size int64, values []Value) (io.Reader, int64) {
	var parts []io.Reader
	at := int64(0)
	for _, v := range values {
		parts = append(parts, io.LimitReader(text, v.At-at), strings.NewReader(v.Text))
		at, size = v.At, size+int64(len(v.Text))
	}
	return io.MultiReader(append(parts, text)...), size
}
