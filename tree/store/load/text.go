package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree"
)

const (
	// windowBytes is how much of a text is in memory at a time.
	windowBytes = 1 << 20
	// MaxWhole bounds the values that are parsed at once.
	MaxWhole = windowBytes / 2
)

// A Text is a JSON text of any size that is being read. It has a window of the text in
// memory. It knows where strings and brackets end and leaves it to package tree to judge
// what is between.
type Text struct {
	src  io.Reader
	buf  []byte // what is in memory: buf[pos:end] is still to be read
	pos  int
	end  int
	err  error // of src, io.EOF at the end
	line int   // 1-based, at buf[0]
	col  int   // 0-based, in bytes, at buf[0]
	size int64 // bytes taken from src
}

// NewText returns the text that src yields.
func NewText(src io.Reader) *Text {
	return &Text{src: src, buf: make([]byte, windowBytes), line: 1}
}

// Size returns how many bytes were read.
func (w *Text) Size() int64 { return w.size }

// more tries to have n bytes ahead, which must not be more than the window
// holds, and returns those that there are: fewer at the end of the text.
func (w *Text) more(n int) []byte {
	for w.end-w.pos < n && w.err == nil {
		if w.pos > 0 && len(w.buf)-w.pos < n {
			w.slide()
		}
		w.fill()
	}
	return w.buf[w.pos:w.end]
}

// slide makes room by forgetting what was read.
func (w *Text) slide() {
	w.line, w.col = w.position(w.pos)
	w.col--
	w.end = copy(w.buf, w.buf[w.pos:w.end])
	w.pos = 0
}

func (w *Text) fill() {
	const most = 100 // readers that return nothing
	for range most {
		n, err := w.src.Read(w.buf[w.end:])
		w.end += n
		w.size += int64(n)
		if w.err = err; n > 0 || err != nil {
			return
		}
	}
	w.err = io.ErrNoProgress
}

// position returns line and column, both 1-based, of buf[at].
func (w *Text) position(at int) (line, col int) {
	before := w.buf[:at]
	if i := bytes.LastIndexByte(before, '\n'); i >= 0 {
		return w.line + bytes.Count(before, []byte{'\n'}), at - i
	}
	return w.line, w.col + at + 1
}

// fail returns an error about the text at the given distance ahead.
func (w *Text) fail(ahead int, kind tree.ParseKind, format string, args ...any) error {
	line, col := w.position(min(w.pos+ahead, w.end))
	return &tree.ParseError{Kind: kind, Line: line, Col: col, Msg: fmt.Sprintf(format, args...)}
}

// moved returns an error about a text of its own as one about the text ahead,
// of which it was a copy that began skew bytes earlier.
func (w *Text) moved(err error, skew int) error {
	e := (*tree.ParseError)(nil)
	if !errors.As(err, &e) {
		return err
	}
	line, col := w.position(w.pos)
	at := *e
	if at.Line++; at.Line == 2 {
		at.Col += col - 1 - skew
	}
	at.Line += line - 2
	return &at
}

// broken returns what to say about a text that goes on in no valid way: the
// error of its source, if it has one, or else that something is missing.
func (w *Text) broken(ahead int, what string) error {
	if w.err != nil && w.err != io.EOF && w.pos+ahead >= w.end {
		return w.err
	}
	found := tree.Found(string(w.buf[min(w.pos+ahead, w.end):min(w.pos+ahead+utf8.UTFMax, w.end)]))
	return w.fail(ahead, tree.BadJSON, "expected %s, found %s", what, found)
}

// peek skips white space and returns the next byte, 0 at the end of the text.
func (w *Text) peek() byte {
	for {
		for ; w.pos < w.end; w.pos++ {
			if c := w.buf[w.pos]; !isSpace(c) {
				return c
			}
		}
		if len(w.more(1)) == 0 {
			return 0
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// expect takes the next byte that is not white space, which must be c.
func (w *Text) expect(c byte) error {
	if w.peek() != c {
		return w.broken(0, fmt.Sprintf("%q", c))
	}
	w.pos++
	return nil
}

// whole returns how long the value ahead is, if that is at most limit. Numbers
// and words have a limit of their own.
func (w *Text) whole(limit int) (size int, ok bool) {
	switch text := w.ahead(limit); {
	case len(text) == 0:
	case text[0] == '"':
		size = stringEnd(text, 0)
	case text[0] == '{' || text[0] == '[':
		size = bracketEnd(text)
	default:
		text = w.ahead(maxScalar)
		if size = scalarEnd(text); size == maxScalar {
			return 0, false
		}
	}
	return size, size > 0
}

// maxScalar is more than the text of any number that somebody means.
const maxScalar = 4 << 10

// ahead returns the next n bytes, fewer at the end of the text.
func (w *Text) ahead(n int) []byte {
	text := w.more(n)
	return text[:min(n, len(text))]
}

// stringEnd returns the end of the string that begins at text[i], 0 if it is
// not there.
func stringEnd(text []byte, i int) int {
	for i++; ; i++ {
		j := bytes.IndexByte(text[i:], '"')
		if j < 0 {
			return 0
		}
		i += j
		if text[i-1] != '\\' || !escaped(text, i) {
			return i + 1
		}
	}
}

// escaped reports whether an odd number of backslashes is in front of text[i],
// inside a string.
func escaped(text []byte, i int) bool {
	n := 0
	for i--; text[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// bracketEnd returns the end of the object or array that text begins with, 0 if
// it is not there.
func bracketEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			end := stringEnd(text, i)
			if end == 0 {
				return 0
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// scalarEnd returns the end of the number or word that text begins with.
func scalarEnd(text []byte) int {
	for i, c := range text {
		if c == ',' || c == '}' || c == ']' || isSpace(c) {
			return i
		}
	}
	return len(text)
}

// piece returns how much of the inside of a string, which goes on ahead, can be
// read by itself: at most limit bytes, and no escape, surrogate pair or
// character is cut. done reports that the closing quote follows.
func (w *Text) piece(limit int) (size int, done bool) {
	const longest = len(`\ud83d\ude00`)
	text := w.more(limit + longest)
	for size < limit && size < len(text) {
		switch c := text[size]; {
		case c == '"':
			return size, true
		case c != '\\':
			size++
		default:
			next := size + escapeLen(text[size:])
			if next > len(text) {
				return len(text), false // the text ends here
			}
			size = next
		}
	}
	if size < len(text) && text[size] == '"' {
		return size, true
	}
	for back := 0; back < 3 && size > 1 && size < len(text) && text[size]&0xC0 == 0x80; back++ {
		size--
	}
	return size, false
}

// escapeLen returns the length of the escape that text begins with, that of both
// for a surrogate pair.
func escapeLen(text []byte) int {
	const unit = len(`\ud83d`)
	switch {
	case len(text) < 2 || text[1] != 'u':
		return 2
	case len(text) >= unit+2 && (text[2]|0x20) == 'd' && bytes.IndexByte([]byte("89abAB"), text[3]) >= 0 &&
		text[unit] == '\\' && text[unit+1] == 'u':
		return 2 * unit
	}
	return unit
}
