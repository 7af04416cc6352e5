package pieces

import (
	"io"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// A Text is the text of an import that is read, and goes to the log piece by piece. A text that
// fits into one piece waits for the end, since it may be an ordinary write.
type Text struct {
	io.Reader
	At     tree.Path
	Now    int64 // what timestamps become, in milliseconds since 1970; 0: there are none
	Put    Put
	Pieces Pieces

	text []byte // that was read and not sent
}

func (t *Text) Read(p []byte) (n int, err error) {
	n, err = t.Reader.Read(p)
	t.text = append(t.text, p[:n]...)
	for len(t.text) > Bytes+utf8.UTFMax {
		if e := t.cut(Bytes); e != nil {
			return n, e
		}
	}
	return n, err
}

// cut sends a piece of about so many bytes.
func (t *Text) cut(size int) error {
	for n := size; n < len(t.text) && n > size-utf8.UTFMax; n-- {
		if utf8.RuneStart(t.text[n]) {
			size = n
			break
		}
	}
	for piece := range entry.Pieces(string(t.text[:size])) {
		op := &entry.Load{ID: t.Pieces.ID, At: t.At, Now: t.Now, Seq: t.Pieces.Sent, Text: piece}
		if err := t.Pieces.Send(op, t.Put); err != nil {
			return err
		}
	}
	t.text = append(t.text[:0], t.text[size:]...)
	return nil
}

// Finish sends the rest.
func (t *Text) Finish() error {
	for len(t.text) > 0 {
		if err := t.cut(min(len(t.text), Bytes)); err != nil {
			return err
		}
	}
	return t.Pieces.Settle(0)
}
