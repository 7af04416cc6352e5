package tree

import (
	"context"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// A Sink takes a value that is read as a stream, children before their parents.
//
// Its methods are called by one goroutine, in the order of the text, and return
// what the parser hands back later (Stored) when the parent is known. A Sink
// that stores as it is called so has only rows of values that are complete, and
// of the containers that are open.
type Sink interface {
	// Node stores a value that is in memory.
	Node(at Path, n Node) (Stored, error)
	// Container begins a container at a path.
	Container(at Path) Container
	// String begins a long string.
	String() (LongString, error)
	// WithPriority returns a value with a priority, or with none.
	WithPriority(at Path, v Stored, priority Node) (Stored, error)
	// Drop lets go of a value that another one replaces.
	Drop(v Stored)
	// ServerValue returns what to take in place of a server value, a leaf; ok is false if
	// there must be none.
	ServerValue(at Target, v Draft) (n Node, ok bool)
}

// Stored is what a Sink has stored of a value that is not part of another one yet. nil is
// the absent value.
type Stored any

// A Container takes the children of a node.
type Container interface {
	// Node adds a child that is in memory. An absent one takes away the child that had the
	// same key before.
	Node(key string, n Node) error
	// Child adds a child that is stored.
	Child(key string, v Stored) error
	// Close ends the container. The value is absent if it has no children.
	Close(priority Node) (Stored, error)
}

// A LongString is a string that is stored part by part.
type LongString interface {
	Append(part string) error
	Value() Stored // after the last part
}

// A Source is a stream of text that is being read.
type Source struct {
	from io.Reader
	size int64
}

// NewSource returns what r yields.
func NewSource(r io.Reader) *Source { return &Source{from: r} }

// Read reads from the stream.
func (s *Source) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	s.size += int64(n)
	return n, err
}

// Size returns how many bytes were read.
func (s *Source) Size() int64 { return s.size }

// ParseStream reads JSON of any size, as ParseNode does, and has the parts of it stored: it
// has in memory only a window of the text, values of up to whole bytes, and the keys above
// them. Errors about the text are *ParseError; others are those of src, the sink and the
// context.
//
// It accepts and refuses the same texts as ParseNode; a test compares the two. To parse in
// memory and store afterwards would take several times the length of the text.
func ParseStream(ctx context.Context, src io.Reader, at Path, whole int, sink Sink) (Stored, error) {
	p := parser{window: window{from: src, ctx: ctx}, stream: &stream{sink: sink, whole: whole, at: at}}
	p.borrow()
	defer p.giveBack()
	_, err := p.run(func() Draft {
		checkDepth(&p, at.Len())
		p.value(at.Len(), 0)
		p.end()
		if len(p.out) > 0 {
			var err error
			p.stream.stored, err = sink.Node(at, p.node(0))
			p.check(err)
		}
		return Draft{}
	})
	if err != nil {
		return nil, err
	}
	return p.stream.take(), nil
}

// A stream is where a parser puts what is large.
//
// A value stays in out as long as it is short (whole). When an object becomes
// longer, its children are moved to a container one by one (spill), and from
// then on each child goes there as it ends. So memory is bounded by whole for
// each level of depth, and MaxDepth bounds those.
type stream struct {
	sink   Sink
	whole  int // bytes of an object from which on its children are stored
	at     Path
	keys   []segment // below at, to the value that is read
	stored Stored    // the value that was read last, if it is not in out
	inside bool      // a priority is read

	// priorities is how many bytes the priorities of the objects that are being read have.
	priorities int
}

// A segment is the key of a child, or its index in an array, if the key is "".
type segment struct {
	key   string
	index int
}

func (s segment) name() string {
	if s.key == "" {
		return strconv.Itoa(s.index)
	}
	return s.key
}

// take returns the value that was read last, if it is not in out.
func (s *stream) take() (v Stored) {
	if s != nil {
		v, s.stored = s.stored, nil
	}
	return v
}

// path returns the path of the value that is read.
func (s *stream) path() Path {
	p := s.at
	for _, key := range s.keys {
		p = p.Child(key.name())
	}
	return p
}

// beginPriority has what is read be in out, as far as it can be a priority, until the
// function that it returns is called. The priorities of a value and of those above it are in
// memory at the same time, so all of them together are as long as one may be.
func (s *stream) beginPriority() (end func()) {
	whole := s.whole
	s.whole, s.inside = MaxStringBytes-s.priorities, true
	return func() { s.whole, s.inside = whole, false }
}

// A part is what a stream has of an object that is being read.
type part struct {
	into  Container // its children; nil: they are in out
	value Stored    // its .value; nil: it has none, or that is in out
}

// streamChild is child in a stream.
func (o *objectReader) streamChild(s segment, from, depth, nest int) {
	st, start := o.stream, len(o.out)
	st.keys = append(st.keys, s)
	present := o.value(depth+1, nest+1)
	st.keys = st.keys[:len(st.keys)-1]
	stored := st.take()
	switch {
	case stored != nil:
		o.unopen(from)
		o.spill()
		o.check(o.kept.into.Child(s.name(), stored))
	case o.kept != nil && o.kept.into != nil:
		n := o.node(start)
		o.out = o.out[:o.start]
		o.check(o.kept.into.Node(s.name(), n))
	default:
		if o.add(s, from, present); o.held() > st.whole {
			o.spill()
		}
	}
}

// memberBytes is what a member counts for in addition to its text: nulls have no text, but take away
// the member that came before under their key.
const memberBytes = 8

// held returns about how much memory the members of the object take.
func (o *objectReader) held() int {
	return len(o.out) - o.start + memberBytes*(len(o.spans)-o.base)
}

// node returns what is in out from a place on.
func (p *parser) node(from int) Node { return Node{string(p.out[from:])} }

// spill moves the children of an object from out to a container, unless that was done.
func (o *objectReader) spill() {
	if o.kept == nil {
		o.kept = new(part)
	}
	if o.kept.into != nil {
		return
	}
	o.kept.into = o.stream.sink.Container(o.stream.path())
	if o.reorder(); !o.isEmpty() {
		o.out = append(o.out, '}')
		for key, child := range o.node(o.start).Children() {
			o.check(o.kept.into.Node(key, child))
		}
	}
	o.out = o.out[:o.start]
}

// streamValue takes what followed .value. If there was one before, this one counts.
func (o *objectReader) streamValue() {
	v := o.stream.take()
	if o.kept == nil && v == nil {
		return
	}
	if o.kept == nil {
		o.kept = new(part)
	}
	if o.kept.value != nil {
		o.stream.sink.Drop(o.kept.value)
	}
	o.kept.value = v
}

// finishStored is finish for an object of which something is stored.
func (o *objectReader) finishStored() bool {
	var v Stored
	var err error
	priority := Node{strings.Clone(o.priority)} // a copy, lest all readers be on the heap
	beside := o.kept.into == nil && !o.isEmpty()
	if o.kept.into != nil {
		v, err = o.kept.into.Close(priority)
		o.check(err)
		beside = v != nil
	}
	switch {
	case (o.valued || o.sv != "") && (beside || o.valued && o.sv != ""):
		o.failBeside()
	case o.kept.value != nil:
		v, err = o.stream.sink.WithPriority(o.stream.path(), o.kept.value, priority)
		o.check(err)
	case o.valued || o.sv != "":
		return o.leaf()
	case o.kept.into == nil: // .value is null after all
		o.kept = nil
		return o.finish()
	}
	o.out = o.out[:o.start]
	o.stream.stored = v
	return false
}

// longPart is how long the parts of a long string are.
const longPart = 32 << 10

// longString has a string stored whose end is not part of src.
func (p *parser) longString() {
	long, err := p.stream.sink.String()
	p.check(err)
	part := make([]byte, 0, longPart+2*utf8.UTFMax)
	size := 0
	for p.pos++; ; {
		if p.pos == len(p.src) && !p.more() {
			p.fail(p.here(), BadJSON, jsontext.Cut)
		}
		n, _ := jsontext.PlainPrefix(p.src[p.pos:min(p.pos+longPart, len(p.src))])
		part = append(part, p.src[p.pos:p.pos+n]...)
		p.pos += n
		done := p.pos < len(p.src) && p.src[p.pos] == '"'
		if n == 0 && !done {
			p.ahead(len(`\ud83d\ude00`))
			part = p.escape(part)
		}
		if done || len(part) >= longPart {
			rest, ok := cutRune(part, done)
			if !ok {
				p.fail(p.here(), BadJSON, "string is not valid UTF-8")
			}
			size += len(part) - len(rest)
			p.checkLength(p.here(), size)
			p.check(long.Append(string(part[:len(part)-len(rest)])))
			part = append(part[:0], rest...)
		}
		if done {
			p.pos++
			p.stream.stored = long.Value()
			return
		}
	}
}

// cutRune returns the beginning of a character at the end of a part of a string, unless it
// is the last part. ok reports whether what is in front of that is UTF-8.
func cutRune(part []byte, last bool) (rest []byte, ok bool) {
	for i := 1; !last && i < min(utf8.UTFMax, len(part)+1); i++ {
		if at := len(part) - i; utf8.RuneStart(part[at]) {
			if !utf8.FullRune(part[at:]) {
				part, rest = part[:at], part[at:]
			}
			break
		}
	}
	return rest, utf8.Valid(part)
}
