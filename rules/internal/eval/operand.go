package eval

import (
	"github.com/dogwooddb/dogwood/rules/lang"
)

// An operand is a value that a function of a program works on. Values that are cheap
// to get are described here and never pass through the virtual machine, which would
// have to put them into an interface. The others come as arguments.
type operand struct {
	from  source
	value any      // a constant
	claim []string // the members that lead from auth to a claim
	index int      // of an argument, or the depth of a capture
}

// A source is where an operand comes from.
type source int

const (
	fromConstant source = iota
	fromCapture
	fromClaim
	fromClock
	fromArgument
)

// get returns the operand's value.
func (o *operand) get(e *Evaluation, args []any) any {
	switch o.from {
	case fromCapture:
		return e.capture(o.index)
	case fromClaim:
		v := e.auth()
		for _, name := range o.claim {
			v = member(v, name)
		}
		return v
	case fromClock:
		return e.clock()
	case fromArgument:
		return args[o.index]
	}
	return o.value
}

// str returns the operand's value if it is a string, else the value as it is. It
// does not put a capture into an interface, which would allocate.
func (o *operand) str(e *Evaluation, args []any) (s string, v any, ok bool) {
	if o.from == fromCapture {
		return e.capture(o.index), nil, true
	}
	v = o.get(e, args)
	s, ok = v.(string)
	return s, v, ok
}

// A text is an operand that must be a string, or a sum whose parts are put
// together without making a string of each step.
type text struct {
	parts []operand
	sum   bool // the parts may be numbers
}

// append appends the text to e.text. ok is false if there is a fault, which is
// noted with the given reason.
func (t *text) append(e *Evaluation, args []any, reason string) (ok bool) {
	start := len(e.text)
	for i := range t.parts {
		s, v, isString := t.parts[i].str(e, args)
		if !isString {
			f, isNumber := v.(float64)
			if !isNumber || !t.sum {
				e.reject(lang.String, reason, v)
				return false
			}
			s = numberText(f)
		}
		if t.sum && len(e.text)-start+len(s) > maxString {
			e.fail(lang.String, msgTooLong)
			return false
		}
		if !e.charge(len(s)) {
			return false
		}
		e.text = append(e.text, s...)
	}
	return true
}

// get returns the text as a string.
func (t *text) get(e *Evaluation, args []any, reason string) (string, bool) {
	if !t.sum {
		s, v, ok := t.parts[0].str(e, args)
		if !ok {
			e.reject(lang.String, reason, v)
		}
		return s, ok && e.charge(len(s))
	}
	e.text = e.text[:0]
	ok := t.append(e, args, reason)
	return string(e.text), ok
}
