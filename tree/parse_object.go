package tree

import (
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/tree/jsontext"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

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
	return o.finish()
}

// members reads one member or more, up to the end of the object.
func (o *objectReader) members(depth, nest int) {
	for more := true; more; {
		if o.peek() != '"' {
			o.want("a key")
		}
		at := o.pos
		key, raw := o.str()
		o.expect(':')
		o.member(key, raw, at, depth, nest)
		if more = o.peek() == ','; more {
			o.pos++
		}
	}
}

type objectReader struct {
	*parser
	start    int // of the object in out
	base     int // of its members in spans
	sorted   bool
	priority string
	val      string // .value, "" if it collapsed
	valued   bool   // there is a .value that is not null
	sv       string // the placeholder of .sv
}

// A span is one member in out. An empty one deletes earlier members of its key.
type span struct {
	key      string
	from, to int
}

func (o *objectReader) member(key string, raw bool, at, depth, nest int) {
	switch {
	case key == ".priority":
		o.priority = o.readPriority(nest)
	case key == ".value":
		o.valued = o.peek() != 'n'
		o.val = o.detached(func() { o.value(depth, nest+1) })
	case key == ".sv":
		o.sv = o.readServerValue(nest)
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
	o.fit(len(key) + slack)
	if mark > o.start+1 {
		o.out = append(o.out, ',')
	}
	from := len(o.out)
	if raw {
		o.out = append(o.out, o.src[at:at+len(key)+2]...)
	} else {
		o.out = jsontext.AppendQuoted(o.out, key)
	}
	o.out = append(o.out, ':')
	present := o.value(depth+1, nest+1)
	if !present {
		o.out = o.out[:mark]
		from = mark
	}
	if n := len(o.spans); o.sorted && n > o.base && CompareKeys(o.spans[n-1].key, key) >= 0 {
		o.sorted = false
	}
	if present || !o.sorted { // in order, the key can't have been there before
		if o.spans == nil {
			o.spans = make([]span, 0, 16)
		}
		o.spans = piecewise.Add(o.spans, span{key, from, len(o.out)})
	}
}

// detached runs f and returns what it appended to out, which it removes.
func (p *parser) detached(f func()) string {
	start := len(p.out)
	f()
	s := piecewise.String(p.out[start:])
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
func (p *parser) readServerValue(nest int) string {
	p.space()
	at := p.pos
	s := p.detached(func() { p.value(0, nest+1) })
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
	if o.valued || o.sv != "" {
		if o.dialect == Strict && (len(spans) > 0 || o.valued && o.sv != "") {
			o.fail(o.pos-1, BadValue, ".value or .sv beside other keys")
		}
		return o.leaf()
	}
	if len(spans) == 0 {
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

// leaf puts .value, or else .sv, in the place of the object that holds it. The
// priority is the one beside it, not one inside.
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
	if n := len(o.out) - o.start; cap(o.scratch) < n {
		o.scratch = make([]byte, 0, n)
	}
	ordered := o.scratch[:0]
	for i, s := range kept {
		if i > 0 {
			ordered = append(ordered, ',')
		}
		ordered = piecewise.Append(ordered, o.out[s.from:s.to])
	}
	o.out = piecewise.Append(o.out[:o.start+1], ordered)
	o.scratch = ordered
	return kept
}
