package tree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Dialect says how strictly reserved keys are read.
type Dialect int

// The dialects.
const (
	Strict  Dialect = iota // REST §3: a key that begins with a dot and is unknown is an error
	Lenient                // wire protocol §6: it is ignored, as are siblings of .value
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

// maxNesting bounds the recursion of the parser. It is above MaxDepth because
// {".value":{…}} nests without going deeper into the tree.
const maxNesting = 2*MaxDepth + 8

// Parse reads JSON that a client wants to write at a location depth levels
// below the root. It accepts arrays, nulls and empty objects, .priority,
// .value and .sv, in any key order, and returns the canonical form. Errors are
// *ParseError.
func Parse(src string, depth int, d Dialect) (Draft, error) {
	p := parser{src: src, dialect: d}
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
	spans    []span // members of the objects being read, innermost last
	dialect  Dialect
	deferred bool // out holds a server value
}

// A span is one member in out. An empty one deletes earlier members of its key.
type span struct {
	key      string
	from, to int
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
	p.out = make([]byte, 0, len(p.src))
	return f(), nil
}

func (p *parser) fail(at int, kind ParseKind, format string, args ...any) {
	before := p.src[:min(at, len(p.src))]
	line := strings.Count(before, "\n") + 1
	col := len(before) - strings.LastIndexByte(before, '\n')
	panic(&ParseError{kind, line, col, fmt.Sprintf(format, args...)})
}

func (p *parser) document(depth int) Draft {
	p.value(depth, 0)
	p.end()
	return p.draft(0)
}

func (p *parser) end() {
	if p.space(); p.pos < len(p.src) {
		p.fail(p.pos, BadJSON, "unexpected text after the value")
	}
}

func (p *parser) draft(from int) Draft {
	return Draft{text: string(p.out[from:]), deferred: p.deferred}
}

func (p *parser) space() {
	for p.pos < len(p.src) {
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
		p.fail(p.pos, BadJSON, "expected %q", c)
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
		p.fail(p.pos, BadJSON, "expected a value")
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

func (p *parser) number() {
	start := p.pos
	digits := func() {
		from := p.pos
		for p.pos < len(p.src) && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' {
			p.pos++
		}
		if p.pos == from {
			p.fail(p.pos, BadJSON, "expected a digit")
		}
	}
	next := func(set string) bool {
		ok := p.pos < len(p.src) && strings.IndexByte(set, p.src[p.pos]) >= 0
		if ok {
			p.pos++
		}
		return ok
	}
	next("-")
	if !next("0") {
		digits()
	}
	if next(".") {
		digits()
	}
	if next("eE") {
		next("+-")
		digits()
	}
	out, ok := canonicalNumber(p.out, p.src[start:p.pos])
	if !ok {
		p.fail(start, BadJSON, "number out of range")
	}
	p.out = out
}

func (p *parser) stringLeaf() {
	at := p.pos
	s, raw := p.str()
	if len(s) > MaxStringBytes {
		p.fail(at, TooLong, "string of %d bytes exceeds the maximum of %d", len(s), MaxStringBytes)
	}
	if raw {
		p.out = append(p.out, p.src[at:p.pos]...)
	} else {
		p.out = appendQuoted(p.out, s)
	}
}

// str reads a string. raw reports that its source is canonical as it stands.
func (p *parser) str() (s string, raw bool) {
	start := p.pos
	p.pos++
	for i := p.pos; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == '"':
			s = p.src[p.pos:i]
			if !utf8.ValidString(s) {
				p.fail(start, BadJSON, "string is not valid UTF-8")
			}
			p.pos = i + 1
			return s, true
		case c == '\\':
			return p.escapedString(start), false
		case c < 0x20:
			p.fail(i, BadJSON, "control character in string")
		}
	}
	p.fail(start, BadJSON, "string does not end")
	return
}

func (p *parser) escapedString(start int) string {
	var out []byte
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		p.pos++
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				p.fail(start, BadJSON, "string is not valid UTF-8")
			}
			return string(out)
		case c == '\\':
			out = p.escape(out)
		case c < 0x20:
			p.fail(p.pos-1, BadJSON, "control character in string")
		default:
			out = append(out, c)
		}
	}
	p.fail(start, BadJSON, "string does not end")
	return ""
}

// escapes maps the letter of a simple escape to what it stands for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (p *parser) escape(out []byte) []byte {
	at := p.pos - 1
	if p.pos == len(p.src) {
		p.fail(at, BadJSON, "string does not end")
	}
	c := p.src[p.pos]
	p.pos++
	if c != 'u' {
		if escapes[c] == 0 {
			p.fail(at, BadJSON, "unknown escape")
		}
		return append(out, escapes[c])
	}
	r := p.hex4(at)
	switch {
	case r < 0xD800 || r > 0xDFFF:
		return utf8.AppendRune(out, r)
	case r < 0xDC00 && p.skipLiteral(`\u`):
		if low := p.hex4(at); low >= 0xDC00 && low <= 0xDFFF {
			return utf8.AppendRune(out, (r-0xD800)<<10+(low-0xDC00)+0x10000)
		}
	}
	p.fail(at, BadJSON, "unpaired surrogate")
	return nil
}

func (p *parser) hex4(at int) rune {
	if p.pos+4 > len(p.src) {
		p.fail(at, BadJSON, "string does not end")
	}
	r, err := strconv.ParseUint(p.src[p.pos:p.pos+4], 16, 16)
	if err != nil {
		p.fail(at, BadJSON, "bad \\u escape")
	}
	p.pos += 4
	return rune(r)
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
		p.expect(',')
	}
	if len(p.out) == start+1 {
		p.out = p.out[:start]
		return false
	}
	p.out = append(p.out, '}')
	return true
}

// object reads an object. Its members go straight to out; only if they are not
// in key order, or repeat, are they put in order afterwards.
func (p *parser) object(depth, nest int) bool {
	o := objectReader{parser: p, start: len(p.out), base: len(p.spans), sorted: true}
	p.out = append(p.out, '{')
	p.pos++
	for more := p.peek() != '}'; more; {
		if p.peek() != '"' {
			p.fail(p.pos, BadJSON, "expected a key")
		}
		at := p.pos
		key, raw := p.str()
		p.expect(':')
		o.member(key, raw, at, depth, nest)
		if more = p.peek() == ','; more {
			p.pos++
		}
	}
	p.expect('}')
	return o.finish()
}

type objectReader struct {
	*parser
	start    int // of the object in out
	base     int // of its members in spans
	sorted   bool
	priority string
	val      string // .value, or .sv as a whole: "" if none
	sv       bool   // val is a server value
}

func (o *objectReader) member(key string, raw bool, at, depth, nest int) {
	switch {
	case key == ".priority":
		o.priority = o.readPriority(nest)
	case key == ".value":
		o.val = o.detached(func() { o.value(depth, nest+1) })
		o.sv = strings.HasPrefix(o.val, `{".sv":`)
	case key == ".sv":
		o.val, o.sv = o.readServerValue(), true
	case strings.HasPrefix(key, ".") && o.dialect == Lenient:
		o.detached(func() { o.value(depth, nest+1) })
	case !ValidKey(key):
		o.fail(at, BadKey, "invalid key %q", abbreviate(key))
	case depth >= MaxDepth:
		o.fail(at, TooDeep, "more than %d levels", MaxDepth)
	default:
		o.child(key, raw, at, depth, nest)
	}
}

func (o *objectReader) child(key string, raw bool, at, depth, nest int) {
	mark := len(o.out)
	if mark > o.start+1 {
		o.out = append(o.out, ',')
	}
	from := len(o.out)
	if raw {
		o.out = append(o.out, o.src[at:at+len(key)+2]...)
	} else {
		o.out = appendQuoted(o.out, key)
	}
	o.out = append(o.out, ':')
	present := o.value(depth+1, nest+1)
	if n := len(o.spans); n > o.base && CompareKeys(o.spans[n-1].key, key) >= 0 {
		o.sorted = false
	} else if !present {
		o.out = o.out[:mark]
		return
	}
	if !present {
		o.out = o.out[:mark]
		from = mark
	}
	o.spans = append(o.spans, span{key, from, len(o.out)})
}

// detached runs f and returns what it appended to out, which it removes.
func (p *parser) detached(f func()) string {
	start := len(p.out)
	f()
	s := string(p.out[start:])
	p.out = p.out[:start]
	return s
}

func (p *parser) readPriority(nest int) string {
	p.space()
	at := p.pos
	s := p.detached(func() { p.value(0, nest+1) })
	if c := class(s); c != classNull && c != classNumber && c != classString && !strings.HasPrefix(s, `{".sv":`) {
		p.fail(at, BadPriority, "a priority must be a string or a number")
	}
	return s
}

// readServerValue reads what follows ".sv" and returns the placeholder object.
func (p *parser) readServerValue() string {
	p.space()
	at := p.pos
	s := p.detached(func() { p.value(0, 0) })
	n := Node{s}
	delta := n.Child("increment")
	switch _, isNumber := delta.NumberValue(); {
	case s == `"timestamp"`:
	case isNumber && n.NumChildren() == 1 && !hasPriority(s) && !hasPriority(delta.text):
	default:
		p.fail(at, BadServerValue, "unknown server value")
	}
	p.deferred = true
	return `{".sv":` + s + "}"
}

func (o *objectReader) finish() bool {
	spans := o.spans[o.base:]
	o.spans = o.spans[:o.base]
	if !o.sorted {
		spans = o.reorder(spans)
	}
	if o.val != "" {
		if len(spans) > 0 && o.dialect == Strict {
			o.fail(o.pos-1, BadValue, ".value or .sv beside children")
		}
		o.out = append(o.out[:o.start], o.leaf()...)
		return true
	}
	if len(o.out) == o.start+1 {
		o.out = o.out[:o.start]
		return false
	}
	o.out = append(o.out, '}')
	if o.priority != "" {
		o.out = slices.Insert(o.out, o.start+1, []byte(`".priority":`+o.priority+",")...)
	}
	return true
}

// leaf returns .value or .sv with the priority of the object around it.
func (o *objectReader) leaf() string {
	switch {
	case o.sv && o.priority == "":
		return o.val
	case o.sv:
		return `{".priority":` + o.priority + `,".value":` + o.val + "}"
	}
	return Node{o.val}.WithPriority(Node{o.priority}).text
}

// reorder sorts the members in out by key and keeps the last of equal keys.
func (o *objectReader) reorder(spans []span) []span {
	slices.SortStableFunc(spans, func(a, b span) int { return CompareKeys(a.key, b.key) })
	kept := spans[:0]
	for i, s := range spans {
		if i+1 < len(spans) && spans[i+1].key == s.key || s.from == s.to {
			continue
		}
		kept = append(kept, s)
	}
	ordered := make([]byte, 0, len(o.out)-o.start)
	for i, s := range kept {
		if i > 0 {
			ordered = append(ordered, ',')
		}
		ordered = append(ordered, o.out[s.from:s.to]...)
	}
	o.out = append(o.out[:o.start+1], ordered...)
	return kept
}

// abbreviate shortens a client's text for an error message.
func abbreviate(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
