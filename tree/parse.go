package tree

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// A Dialect says how strictly reserved keys are read.
type Dialect int

// The dialects.
const (
	Strict  Dialect = iota // REST §3: a key that begins with a dot and is unknown is an error
	Lenient                // protocol §6: it is ignored, as are siblings of .value
)

// A ParseKind classifies a ParseError.
type ParseKind int

// The kinds of errors. Each door maps them to its documented texts.
const (
	BadJSON        ParseKind = iota // not JSON, or not valid UTF-8
	BadKey                          // a key that can't name a child
	BadObject                       // an update that is not an object
	BadServerValue                  // an unknown .sv
	BadPriority                     // a priority that is no string or number
	BadValue                        // .value or .sv beside children
	BadUpdatePath                   // an update whose paths overlap or are not valid
	TooDeep                         // more than MaxDepth keys to a leaf
	TooLong                         // a string above MaxStringBytes
	TooManyPaths                    // an update of more paths than ParseUpdateUpTo takes
)

// A ParseError says what is wrong in a JSON text and where.
type ParseError struct {
	Kind ParseKind
	Line int // 1-based
	Col  int // 1-based, in bytes
	Msg  string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Msg)
}

// shortText is the length in bytes up to which texts are copied at once.
const shortText = 64 << 10

// slack is more than what is appended beside strings and keys before the next call of
// fit: numbers, literals, brackets, commas.
const slack = 64

// maxNesting bounds the recursion of the parser. It is above MaxDepth because
// {".value":{…}} nests without going deeper into the tree.
const maxNesting = 2*MaxDepth + 8

// Parse reads JSON that a client wants to write at a location depth levels
// below the root. It accepts arrays, nulls and empty objects, .priority,
// .value and .sv, in any key order, and returns the canonical form. Errors are
// *ParseError.
func Parse(src string, depth int, d Dialect) (Draft, error) {
	p := parser{src: src, dialect: d}
	p.borrow()
	defer p.giveBack()
	return p.run(func() Draft { return p.document(depth) })
}

// ParseNode is Parse for values without server values, such as stored or test
// data. A server value is a BadServerValue error.
func ParseNode(src string) (Node, error) {
	d, err := Parse(src, 0, Strict)
	if err != nil {
		return Empty, err
	}
	n, ok := d.Node()
	if !ok {
		return Empty, &ParseError{Kind: BadServerValue, Line: 1, Col: 1, Msg: "unexpected server value"}
	}
	return n, nil
}

// MustParseNode is ParseNode for constants; it panics on an error.
func MustParseNode(src string) Node {
	n, err := ParseNode(src)
	if err != nil {
		panic("tree: " + src + ": " + err.Error())
	}
	return n
}

type parser struct {
	src      string
	pos      int
	out      []byte
	spans    []span      // members of the objects being read, innermost last
	scratch  []byte      // members of an object on their way into their order
	room     *parserRoom // that spans and scratch are from; nil: they are its own
	dialect  Dialect
	deferred bool // out holds a server value
}

func (p *parser) run(f func() Draft) (d Draft, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*ParseError)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	return f(), nil
}

// parserRoom is memory that parsers use one after the other.
type parserRoom struct {
	spans   []span
	scratch []byte
}

var parserRooms = sync.Pool{New: func() any { return &parserRoom{spans: make([]span, 0, 64)} }}

// Bounds of the memory that is kept.
const (
	maxKeptSpans   = 1 << 10
	maxKeptScratch = 64 << 10
)

func (p *parser) borrow() {
	p.room = parserRooms.Get().(*parserRoom)
	p.spans, p.scratch = p.room.spans, p.room.scratch
}

func (p *parser) giveBack() {
	if cap(p.spans) > maxKeptSpans || cap(p.scratch) > maxKeptScratch {
		return
	}
	spans := p.spans[:cap(p.spans)]
	clear(spans) // of keys, which are parts of the text
	p.room.spans, p.room.scratch = spans[:0], p.scratch[:0]
	parserRooms.Put(p.room)
}

func (p *parser) fail(at int, kind ParseKind, format string, args ...any) {
	before := p.src[:min(at, len(p.src))]
	line := strings.Count(before, "\n") + 1
	col := len(before) - strings.LastIndexByte(before, '\n')
	panic(&ParseError{kind, line, col, fmt.Sprintf(format, args...)})
}

// want fails because something else is there than what is expected.
func (p *parser) want(what string) {
	after := ""
	if strings.HasSuffix(strings.TrimRight(p.src[:p.pos], " \t\r\n"), ",") {
		after = " after a comma"
	}
	p.fail(p.pos, BadJSON, "expected %s, found %s%s", what, Found(p.src[p.pos:]), after)
}

// Found names what a text begins with, for errors: its first character or its end.
func Found(rest string) string {
	if rest == "" {
		return "the end of the text"
	}
	c, size := utf8.DecodeRuneInString(rest)
	if c == utf8.RuneError && size == 1 {
		return fmt.Sprintf("the byte %#x", rest[0])
	}
	return fmt.Sprintf("%q", c)
}

func (p *parser) document(depth int) Draft {
	if p.peek() == '"' {
		return p.text()
	}
	p.out = make([]byte, 0, p.size())
	p.value(depth, 0)
	p.end()
	return p.whole()
}

// whole returns all that was read as a draft, and its text without a copy if that does
// not keep much more memory than it needs. Nothing more is read then.
func (p *parser) whole() Draft {
	if len(p.out) < cap(p.out)/4*3 {
		return p.draft(0)
	}
	return p.newDraft(piecewise.Own(p.out))
}

// size returns the room that the canonical form of the text needs in most cases.
func (p *parser) size() int {
	if len(p.src) <= shortText {
		return len(p.src)
	}
	return len(p.src) + slack
}

// fit makes room for n bytes in out if that is long: append can move what is short.
func (p *parser) fit(n int) {
	if len(p.out) > shortText && cap(p.out)-len(p.out) < n {
		p.out = piecewise.Grow(p.out, n)
	}
}

func (p *parser) end() {
	if p.space(); p.pos < len(p.src) {
		p.fail(p.pos, BadJSON, "unexpected text after the value")
	}
}

// draft returns what was read.
func (p *parser) draft(from int) Draft { return p.newDraft(piecewise.String(p.out[from:])) }

// newDraft returns a draft of what was read. A server value may have been read that is
// not in it, beside a .value or under a key that came again.
func (p *parser) newDraft(text string) Draft {
	return Draft{text, p.deferred && hasServerValue(text)}
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
	p.space()
	if p.pos == len(p.src) {
		return 0
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

// value reads one value and appends its canonical form. It reports whether
// there was any, that is, whether it did not collapse to null.
func (p *parser) value(depth, nest int) bool {
	if nest > maxNesting {
		p.fail(p.pos, TooDeep, "nested too deep")
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth, nest)
	case c == '[':
		return p.array(depth, nest)
	case c == '"':
		p.stringLeaf()
	case c == '-' || c >= '0' && c <= '9':
		p.number()
	case p.literal("true"), p.literal("false"):
	case p.skipLiteral("null"):
		return false
	default:
		p.want("a value")
	}
	return true
}

func (p *parser) skipLiteral(word string) bool {
	if !strings.HasPrefix(p.src[p.pos:], word) {
		return false
	}
	p.pos += len(word)
	return true
}

func (p *parser) literal(word string) bool {
	ok := p.skipLiteral(word)
	if ok {
		p.out = append(p.out, word...)
	}
	return ok
}

func (p *parser) array(depth, nest int) bool {
	start := len(p.out)
	p.out = append(p.out, '{')
	p.pos++
	if p.peek() == ']' {
		p.pos++
		p.out = p.out[:start]
		return false
	}
	for i := 0; ; i++ {
		if depth >= MaxDepth {
			p.fail(p.pos, TooDeep, "more than %d levels", MaxDepth)
		}
		mark := len(p.out)
		p.fit(slack)
		if mark > start+1 {
			p.out = append(p.out, ',')
		}
		p.out = append(strconv.AppendInt(append(p.out, '"'), int64(i), 10), '"', ':')
		if !p.value(depth+1, nest+1) {
			p.out = p.out[:mark]
		}
		if p.peek() == ']' {
			p.pos++
			break
		}
		p.afterMember(',', ']')
	}
	if len(p.out) == start+1 {
		p.out = p.out[:start]
		return false
	}
	p.out = append(p.out, '}')
	return true
}

// abbreviate shortens a client's text for an error message.
func abbreviate(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
