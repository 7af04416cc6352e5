package tree

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// A Draft is a value that a client wants to write: canonical text in which
// server values may still stand where leaves and priorities will be. The zero
// Draft is null, a removal.
//
// A server value is kept as text in its place, {".sv":…}, which no canonical
// text of a client can contain. So a draft without server values is a Node as
// it stands, and finding out is a search for one word.
type Draft struct {
	text     string
	deferred bool // text holds a server value
}

// ErrIncrement is returned when an increment leaves the range of a double.
var ErrIncrement = errors.New("increment overflows")

// DraftOf returns a node as a draft.
func DraftOf(n Node) Draft { return Draft{text: n.text} }

// DraftFromText returns the draft whose Text was s.
func DraftFromText(s string) Draft {
	return Draft{text: s, deferred: hasServerValue(s)}
}

// hasServerValue looks for the placeholder, which can't be part of a canonical
// string: the quote would be escaped.
func hasServerValue(s string) bool { return strings.Contains(s, `{".sv":`) }

// Text returns the draft's canonical text, "" for null. It is not the text of
// a Node while it holds server values.
func (d Draft) Text() string { return d.text }

// IsEmpty reports whether the draft is null.
func (d Draft) IsEmpty() bool { return d.text == "" }

// Node returns the draft's node. ok is false if it holds server values.
func (d Draft) Node() (n Node, ok bool) {
	if d.deferred {
		return Empty, false
	}
	return Node{d.text}, true
}

// OrPriority returns the draft with a priority, a number or string leaf, unless it has one of
// its own or there is none to give. An absent node takes none.
func (d Draft) OrPriority(p Node) Draft {
	switch {
	case p.IsEmpty(), d.IsEmpty(), hasPriority(d.text):
		return d
	case d.text[0] == '{' && !isServerValue(d.text):
		return Draft{`{".priority":` + p.text + "," + d.text[1:], d.deferred}
	}
	return Draft{`{".priority":` + p.text + `,".value":` + d.text + "}", d.deferred}
}

// Resolve replaces the server values: a timestamp by now, in milliseconds
// since 1970, an increment by the existing number at its place plus the
// increment, max and min by the larger or smaller one of the two numbers
// (protocol §12). existing returns the node at a path below the
// place of the write; it is not asked for timestamps. With the error ErrIncrement there
// is a node all the same: it has the number nearest to the sum.
//
// It runs when the write is decided, in the committer for all but large writes: only then
// the existing value is known. Everything that can be checked before was checked by
// Parse.
func (d Draft) Resolve(now int64, existing func(Path) (Node, error)) (Node, error) {
	if !d.deferred {
		return Node{d.text}, nil
	}
	r := resolver{now: now, existing: existing}
	text, err := r.node(d.text, Root)
	if err == nil && r.overflows {
		err = ErrIncrement
	}
	return Node{text}, err
}

type resolver struct {
	now       int64
	existing  func(Path) (Node, error)
	overflows bool
}

func (r *resolver) node(s string, at Path) (string, error) {
	if isServerValue(s) {
		return r.serverValue(s, at, false)
	}
	if s[0] != '{' {
		return s, nil
	}
	out := []byte{'{'}
	for i := 1; s[i] != '}'; {
		m := memberAt(s, i)
		if i = m.valueEnd; s[i] == ',' {
			i++
		}
		v, err := r.member(m.key(s), m.value(s), at)
		if err != nil {
			return "", err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = piecewise.Append(append(append(out, m.key(s)...), ':'), v)
	}
	return piecewise.String(append(out, '}')), nil
}

func (r *resolver) member(quoted, v string, at Path) (string, error) {
	switch quoted {
	case `".priority"`:
		if isServerValue(v) {
			return r.serverValue(v, at, true)
		}
		return v, nil
	case `".value"`:
		return r.node(v, at)
	}
	return r.node(v, at.Child(unquote(quoted)))
}

func isServerValue(s string) bool { return strings.HasPrefix(s, `{".sv":`) }

func (r *resolver) serverValue(s string, at Path, priority bool) (string, error) {
	if s == `{".sv":"timestamp"}` {
		return strconv.FormatInt(r.now, 10), nil
	}
	op, operand, _ := operation(s[len(`{".sv":`) : len(s)-1])
	old, err := r.existing(at)
	if err != nil {
		return "", err
	}
	if priority {
		old = old.Priority()
	}
	base, isNumber := old.NumberValue() // 0 unless it is a number
	result := operand
	switch {
	case !isNumber:
	case op == "increment":
		result = base + operand
	case op == "max":
		result = max(base, operand)
	case op == "min":
		result = min(base, operand)
	}
	if math.IsInf(result, 0) {
		r.overflows = true
		result = math.Copysign(math.MaxFloat64, result)
	}
	return string(appendNumber(nil, result)), nil
}

// operation reads what a server value does with the number that is there: its name and the
// number that the client gives.
func operation(s string) (name string, operand float64, ok bool) {
	n := Node{s}
	if !n.IsObject() || n.NumChildren() != 1 || hasPriority(s) {
		return "", 0, false
	}
	for name, value := range n.Children() {
		operand, ok = value.NumberValue()
		ok = ok && !hasPriority(value.text) && (name == "increment" || name == "max" || name == "min")
		return name, operand, ok
	}
	return "", 0, false
}
