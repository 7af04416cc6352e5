package tree

import (
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/tree/jsontext"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// value reads one value and appends its canonical form, or has it stored in a stream. It
// reports whether there was any in out, that is, whether it did not collapse to null.
func (p *parser) value(depth, nest int) bool {
	if nest > maxNesting {
		p.fail(p.here(), TooDeep, "nested too deep")
	}
	c := p.peek()
	if p.from != nil && len(p.src)-p.pos < windowAhead {
		p.ahead(windowAhead)
	}
	switch {
	case c == '{':
		return p.object(depth, nest)
	case c == '[':
		return p.array(depth, nest)
	case c == '"':
		return p.stringLeaf()
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

func (p *parser) array(depth, nest int) bool {
	o := objectReader{parser: p, start: len(p.out), base: len(p.spans), sorted: true}
	p.out = append(p.out, '{')
	p.pos++
	if p.peek() == ']' {
		p.pos++
		return o.finish()
	}
	for i := 0; ; i++ {
		if depth >= MaxDepth {
			p.fail(p.here(), TooDeep, "more than %d levels", MaxDepth)
		}
		from := o.open(slack)
		p.out = append(strconv.AppendInt(append(p.out, '"'), int64(i), 10), '"', ':')
		o.child(segment{index: i}, from, depth, nest)
		if p.peek() == ']' {
			p.pos++
			return o.finish()
		}
		p.afterMember(',', ']')
	}
}

// object reads an object. Its members go straight to out; only if they are not
// in key order, or repeat, are they put in order afterwards.
func (p *parser) object(depth, nest int) bool {
	o := objectReader{parser: p, start: len(p.out), base: len(p.spans), sorted: true}
	p.out = append(p.out, '{')
	p.pos++
	if p.peek() != '}' {
		o.members(depth, nest)
	}
	p.afterMember('}', '}')
	present := o.finish()
	o.setPriority("")
	return present
}

// setPriority keeps a priority in place of one that the object had before.
func (o *objectReader) setPriority(priority string) {
	if o.stream != nil {
		o.stream.priorities += len(priority) - len(o.priority)
	}
	o.priority = priority
}

// members reads one member or more, up to the end of the object.
func (o *objectReader) members(depth, nest int) {
	for more := true; more; {
		if o.peek() != '"' {
			o.want("a key")
		}
		at := o.here()
		marked := o.mark(at)
		key, form := o.str(mostKeyText)
		if form == longForm {
			o.fail(at, LongKey, "a key has at most %d bytes, and this one has more", MaxKeyBytes)
		}
		o.expect(':')
		o.member(key, form, at, marked, depth, nest)
		if more = o.peek() == ','; more {
			o.pos++
		}
	}
}

// mostKeyText is the length of the longest key that is valid, all of it escapes.
const mostKeyText = 6*MaxKeyBytes + 2

// An objectReader reads one object or array.
//
// It is a value on the stack of object or array, so nested objects share the
// parser and have their own limits in out and spans. Whatever it leaves in
// spans belongs to members that are not finished; finish takes them off again.
type objectReader struct {
	*parser
	start    int // of the object in out
	base     int // of its members in spans
	sorted   bool
	priority string
	val      string // .value, "" if it collapsed
	valued   bool   // there is a .value that is not null
	sv       string // the placeholder of .sv

	kept *part // of a stream: what it has of the object; nil: nothing
}

// A span is one member in out. An empty one deletes earlier members of its key.
type span struct {
	key      string
	from, to int
}

// member reads what follows the key that begins at a place in the text, which is marked.
func (o *objectReader) member(key string, form stringForm, at, marked, depth, nest int) {
	if !strings.HasPrefix(key, ".") {
		if !ValidKey(key) {
			failKey(o.parser, at, key, keyError(key))
		}
		if depth >= MaxDepth {
			o.fail(at, TooDeep, "more than %d levels", MaxDepth)
		}
		from := o.open(len(key) + slack)
		if form == canonicalForm {
			o.out = append(append(append(o.out, '"'), key...), '"', ':')
		} else {
			o.out = append(jsontext.AppendQuoted(o.out, key), ':')
		}
		o.unmark(marked)
		o.child(segment{key: key}, from, depth, nest)
		return
	}
	switch {
	case key == ".priority":
		o.setPriority(o.readPriority(nest))
	case key == ".value":
		o.readValue(depth, nest)
	case key == ".sv":
		o.sv = o.readServerValue(nest)
	case o.dialect == Lenient:
		o.detached(func() { o.value(depth, nest+1) })
	default:
		o.fail(at, BadKey, "invalid key %q", abbreviate(key))
	}
	o.unmark(marked)
}

// failKey fails for a key, or a path, that is not valid.
func failKey(p *parser, at int, key string, err error) {
	if long := (*LongKeyError)(nil); errors.As(err, &long) {
		p.fail(at, LongKey, "%v", long)
	}
	p.fail(at, BadKey, "invalid key %q", abbreviate(key))
}

// open makes room for a member and returns where it starts in out, behind a comma if it is
// not the first.
func (o *objectReader) open(room int) (from int) {
	o.fit(room)
	if len(o.out) > o.start+1 {
		o.out = append(o.out, ',')
	}
	return len(o.out)
}

// child reads the value of a member, whose key is in out from a place on.
func (o *objectReader) child(s segment, from, depth, nest int) {
	if o.stream == nil {
		o.add(s, from, o.value(depth+1, nest+1))
		return
	}
	o.streamChild(s, from, depth, nest)
}

// add notes a member that is in out from a place on, or removes it there if it is null.
func (o *objectReader) add(s segment, from int, present bool) {
	if !present {
		from = o.unopen(from)
	}
	if s.key == "" {
		return // an element of an array: they are in order
	}
	if n := len(o.spans); o.sorted && n > o.base && CompareKeys(o.spans[n-1].key, s.key) >= 0 {
		o.sorted = false
	}
	if present || !o.sorted { // in order, the key can't have been there before
		if o.spans == nil {
			o.spans = make([]span, 0, 16)
		}
		o.spans = piecewise.Add(o.spans, span{s.key, from, len(o.out)})
	}
}

// unopen removes what there is of a member that starts at a place, and the comma in front
// of it.
func (o *objectReader) unopen(from int) int {
	if from > o.start+1 {
		from--
	}
	o.out = o.out[:from]
	return from
}

// detached runs f and returns what it appended to out, which it removes.
func (p *parser) detached(f func()) string {
	start := len(p.out)
	f()
	s := piecewise.String(p.out[start:])
	p.out = p.out[:start]
	return s
}

func (o *objectReader) readValue(depth, nest int) {
	o.valued = o.peek() != 'n'
	o.val = o.detached(func() { o.value(depth, nest+1) })
	if o.stream != nil {
		o.streamValue()
	}
}

func (p *parser) readPriority(nest int) string {
	p.peek()
	at := p.here()
	defer p.unmark(p.mark(at))
	if p.stream != nil {
		defer p.stream.beginPriority()()
	}
	s := p.detached(func() { p.value(0, nest+1) })
	long := p.stream.take() != nil
	if long && p.stream.priorities > 0 {
		p.fail(at, TooLong, "priorities of more than %d bytes above each other", MaxStringBytes)
	}
	c := class(s)
	if c != classNull && c != classNumber && c != classString && !strings.HasPrefix(s, `{".sv":`) || long {
		p.fail(at, BadPriority, "a priority must be a string or a number")
	}
	return s
}

// readServerValue reads what follows ".sv" and returns the placeholder object, or what the
// stream takes in its place.
func (p *parser) readServerValue(nest int) string {
	p.peek()
	at := p.here()
	defer p.unmark(p.mark(at))
	s := p.detached(func() { p.value(0, nest+1) })
	if _, _, ok := operation(s); !ok && s != `"timestamp"` {
		p.fail(at, BadServerValue, "unknown server value")
	}
	s = `{".sv":` + s + "}"
	if p.stream == nil {
		p.deferred = true
		return s
	}
	leaf, ok := p.stream.sink.ServerValue(Target{p.stream.path(), p.stream.inside}, DraftFromText(s))
	if !ok {
		p.fail(at, BadServerValue, "server value in data to be loaded")
	}
	return leaf.text
}

// finish ends an object. It reports whether that is in out.
func (o *objectReader) finish() bool {
	if o.kept != nil {
		return o.finishStored()
	}
	o.reorder()
	if o.valued || o.sv != "" {
		if o.dialect == Strict && (!o.isEmpty() || o.valued && o.sv != "") {
			o.failBeside()
		}
		return o.leaf()
	}
	if o.isEmpty() {
		o.out = o.out[:o.start]
		return false
	}
	o.out = append(o.out, '}')
	if o.priority != "" {
		o.fit(len(o.priority) + slack)
		o.out = slices.Insert(o.out, o.start+1, []byte(`".priority":`+o.priority+",")...)
	}
	return true
}

// isEmpty reports whether there are no children in out.
func (o *objectReader) isEmpty() bool { return len(o.out) <= o.start+1 }

func (o *objectReader) failBeside() {
	o.fail(o.here()-1, BadValue, ".value or .sv beside other keys")
}

// leaf puts .value, or else .sv, in the place of the object that holds it. The
// priority is the one beside it, not one inside. {".value":…} is how a leaf
// with a priority is written, so an object with .value is none.
func (o *objectReader) leaf() bool {
	o.out = o.out[:o.start]
	v := o.sv
	if o.valued {
		v = Node{o.val}.Value().text
	}
	switch {
	case v == "":
		return false
	case o.priority == "":
		o.out = piecewise.Append(o.out, v)
	case v[0] == '{' && !isServerValue(v):
		o.out = piecewise.Append(append(o.out, `{".priority":`+o.priority+","...), v[1:])
	default:
		o.out = append(piecewise.Append(append(o.out, `{".priority":`+o.priority+`,".value":`...), v), '}')
	}
	return true
}

// reorder takes the members of the object off the spans. If they are not in order in out,
// it sorts them by key and keeps the last of equal keys. Canonical exports, and what SDKs
// send of sorted data, need no sorting. Of equal keys the last one counts, as in
// JavaScript.
func (o *objectReader) reorder() {
	spans := o.spans[o.base:]
	o.spans, o.owned = o.spans[:o.base], min(o.owned, o.base)
	if o.sorted {
		return
	}
	sort.SliceStable(spans, func(i, j int) bool { return CompareKeys(spans[i].key, spans[j].key) < 0 })
	if n := len(o.out) - o.start; cap(o.scratch) < n {
		o.scratch = make([]byte, 0, n)
	}
	ordered := o.scratch[:0]
	for i, s := range spans {
		if i+1 < len(spans) && spans[i+1].key == s.key || s.from == s.to {
			continue
		}
		if len(ordered) > 0 {
			ordered = append(ordered, ',')
		}
		ordered = piecewise.Append(ordered, o.out[s.from:s.to])
	}
	o.out = piecewise.Append(o.out[:o.start+1], ordered)
	o.scratch = ordered
}
