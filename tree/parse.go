package tree

import (
	"fmt"
	"strings"
	"sync"

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
	LongKey                         // a key above MaxKeyBytes
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
// *ParseError, also for a location below MaxDepth.
//
// A text is checked once, here: syntax, UTF-8, keys, depth, numbers and the
// length of strings. Nothing behind it checks them again, neither when a value
// is written nor when it is read back.
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

// A parser reads one text: a string, or the stream of a source, of which it has a window.
// Errors are panics of *ParseError and of stop, which run returns: so the methods can follow the
// grammar, a value at a time, without a check behind each of them. Only run recovers them.
//
// Values are appended to out in their canonical form while they are read, so the result needs
// no second pass. Only an object whose keys are not in order is put in order afterwards, with
// the offsets in spans.
//
// The position in src is where everything is read from; for a stream, src is a window that
// moves on. So a method that calls more, ahead or peek must not keep offsets of src across the
// call, except through mark.
type parser struct {
	src      string // the text, or the window of it
	pos      int    // of what is read next
	out      []byte
	spans    []span      // members of the objects being read, innermost last
	scratch  []byte      // members of an object on their way into their order
	room     *parserRoom // that spans and scratch are from; nil: they are its own
	dialect  Dialect
	deferred bool // out holds a server value

	window
	stream *stream // where large values go; nil: they stay in out
}

// A stop is a panic for an error that is not about the text.
type stop struct{ err error }

// check ends the parser if there is an error.
func (p *parser) check(err error) {
	if err != nil {
		panic(stop{err})
	}
}

func (p *parser) run(f func() Draft) (d Draft, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *ParseError:
			err = r
		case stop:
			err = r.err
		default:
			panic(r)
		}
	}()
	return f(), nil
}

// parserRoom is memory that parsers use one after the other. Requests are many
// and small, and these two slices would be most of their garbage.
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

func (p *parser) document(depth int) Draft {
	checkDepth(p, depth)
	if p.peek() == '"' {
		return p.text()
	}
	p.out = make([]byte, 0, p.size())
	p.value(depth, 0)
	p.end()
	return p.whole()
}

// checkDepth refuses a value whose own place is too deep, also a leaf or null. Those below it are
// looked at when they are read.
func checkDepth(p *parser, depth int) {
	if depth > MaxDepth {
		p.fail(0, TooDeep, "more than %d levels", MaxDepth)
	}
}

// whole returns all that was read as a draft, and its text without a copy if that does
// not keep much more memory than it needs. Nothing more is read then. Up to a quarter of
// the memory may be unused: to copy a large text would need its memory twice for a
// moment.
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

// draft returns what was read.
func (p *parser) draft(from int) Draft { return p.newDraft(piecewise.String(p.out[from:])) }

// newDraft returns a draft of what was read. A server value may have been read that is
// not in it, beside a .value or under a key that came again.
func (p *parser) newDraft(text string) Draft {
	return Draft{text, p.deferred && hasServerValue(text)}
}

// abbreviate shortens a client's text for an error message.
func abbreviate(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
