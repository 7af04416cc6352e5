package tree

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// A window is where the part of a text that is in memory belongs. The zero window has all
// of it.
//
// A window is never changed once it was read, because strings that were found are parts
// of it. It is left behind instead, and the garbage collector frees it when nothing
// refers to it any longer. That is why ownKeys copies the keys of objects that go on: one
// short key would otherwise keep a window for as long as its object is read.
type window struct {
	from   io.Reader // of the rest; nil: there is none
	ctx    context.Context
	buf    []byte // where the parser's src is; what was read once does not change
	ended  error  // of from: io.EOF after the last byte
	passed int    // bytes in front of src
	line   int    // lines in front of src
	col    int    // bytes in front of src, of its first line
	marks  []mark // places that errors may be about, innermost last
	owned  int    // keys of spans that are copies, not parts of an older window
}

// A mark is a place in a stream whose line and column are known after src has left it.
type mark struct {
	at        int
	line, col int
	left      bool // src has left it
}

const (
	// windowBytes is how much of a text is in memory at a time, unless one part that must
	// be there as a whole is longer.
	windowBytes = 256 << 10
	// windowBehind is how much stays of what was read, for errors.
	windowBehind = 64
	// windowAhead is how much of a text is read before a number or a word is: more than
	// most are long.
	windowAhead = 64
)

// more reads more of the text, if there is any. Positions in src are others then.
func (p *parser) more() bool {
	if p.from == nil || p.ended == io.EOF {
		return false
	}
	p.check(p.ended)
	p.check(p.ctx.Err())
	if len(p.buf) == cap(p.buf) {
		p.slide()
	}
	const most = 100 // readers that return nothing
	for range most {
		n, err := p.from.Read(p.buf[len(p.buf):cap(p.buf)])
		p.buf = p.buf[:len(p.buf)+n]
		p.src = jsontext.View(p.buf)
		if p.ended = err; n > 0 {
			return true
		}
		if err != nil {
			return p.more()
		}
	}
	panic(stop{io.ErrNoProgress})
}

// slide moves on to a new window, since strings that were read are parts of the old one.
func (p *parser) slide() {
	from := max(p.pos-windowBehind, 0)
	rest := p.src[from:]
	p.leaveMarks(from)
	p.ownKeys()
	p.line, p.col = p.position(from)
	p.passed += from
	p.pos -= from
	p.buf = append(make([]byte, 0, max(windowBytes, 2*len(rest))), rest...)
}

// leaveMarks notes where marks are that are in front of src[from].
func (p *parser) leaveMarks(from int) {
	for i := range p.marks {
		if m := &p.marks[i]; !m.left && m.at-p.passed < from {
			m.line, m.col = p.position(m.at - p.passed)
			m.left = true
		}
	}
}

// ownKeys copies the keys of members that are being read. With much white space between
// them, each would keep a window in memory.
func (p *parser) ownKeys() {
	for i := p.owned; i < len(p.spans); i++ {
		p.spans[i].key = strings.Clone(p.spans[i].key)
	}
	p.owned = len(p.spans)
}

// ahead makes at least n bytes of a stream that come next part of src, if there are so many.
// Methods that look at several bytes call it first and then need not expect the end of the
// window at each of them.
func (p *parser) ahead(n int) {
	for len(p.src)-p.pos < n && p.more() {
	}
}

// mark marks a place until unmark is called with what it returns.
func (w *window) mark(at int) (before int) {
	before = len(w.marks)
	if w.from != nil {
		w.marks = append(w.marks, mark{at: at})
	}
	return before
}

func (w *window) unmark(before int) { w.marks = w.marks[:before] }

// here returns where in the text the parser is, for fail.
func (p *parser) here() int { return p.passed + p.pos }

// position returns how many lines are in front of src[at], and how many bytes are in front
// of it in its line.
func (p *parser) position(at int) (line, col int) {
	before := p.src[:at]
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		return p.line + strings.Count(before, "\n"), at - i - 1
	}
	return p.line, p.col + at
}

func (p *parser) fail(at int, kind ParseKind, format string, args ...any) {
	line, col := p.position(min(max(at-p.passed, 0), len(p.src)))
	for _, m := range p.marks {
		if m.left && m.at == at {
			line, col = m.line, m.col
		}
	}
	panic(&ParseError{kind, line + 1, col + 1, fmt.Sprintf(format, args...)})
}

// want fails because something else is there than what is expected.
func (p *parser) want(what string) {
	p.ahead(utf8.UTFMax)
	after := ""
	if strings.HasSuffix(strings.TrimRight(p.src[:p.pos], " \t\r\n"), ",") {
		after = " after a comma"
	}
	p.fail(p.here(), BadJSON, "expected %s, found %s%s", what, jsontext.Found(p.src[p.pos:]), after)
}

func (p *parser) end() {
	if p.peek(); p.pos < len(p.src) {
		p.fail(p.here(), BadJSON, "unexpected text after the value")
	}
}

func (p *parser) space() {
	for p.pos < len(p.src) && p.src[p.pos] <= ' ' {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.src) && p.src[p.pos] > ' ' {
		return p.src[p.pos]
	}
	p.space()
	for p.pos == len(p.src) {
		if !p.more() {
			return 0
		}
		p.space()
	}
	return p.src[p.pos]
}

func (p *parser) expect(c byte) {
	if p.peek() != c {
		p.want(fmt.Sprintf("%q", c))
	}
	p.pos++
}

// afterMember takes c, which must come after a member: a comma or the end of its container.
func (p *parser) afterMember(c, end byte) {
	if p.peek() != c {
		p.want(fmt.Sprintf("',' or %q", end))
	}
	p.pos++
}
