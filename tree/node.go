package tree

import (
	"iter"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/tree/jsontext"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// A Node is the immutable value below a path: a leaf (boolean, number or
// string) or an object, either with an optional priority. The zero Node is the
// absent node, null. Nodes are comparable: equal nodes have equal texts.
//
// Most values are read to be sent again. Text needs no work for that, while a
// tree of maps and pointers would be built for each read and encoded again. The
// price is that a child is found by a scan, which costs its siblings in front.
// So a caller that looks up many children walks Children once instead of
// calling Child for each.
type Node struct{ text string } // canonical; see the package comment

// Empty is the absent node.
var Empty Node

// Bool returns a leaf.
func Bool(b bool) Node { return Node{strconv.FormatBool(b)} }

// Number returns a leaf. f must be finite.
func Number(f float64) Node { return Node{string(appendNumber(nil, f))} }

// String returns a leaf.
func String(s string) Node {
	b := jsontext.AppendQuoted(make([]byte, 0, len(s)+2), s)
	if cap(b) == len(s)+2 { // nothing was escaped
		return Node{piecewise.Own(b)}
	}
	return Node{piecewise.String(b)}
}

// FromCanonical returns the node whose canonical text is s, "" or "null" being
// the absent node. It does not check s: it is for text that this package made,
// read back from a store.
//
// A text that is not canonical makes no error here, but wrong answers later:
// two equal values would differ. So no text of a client may come here.
func FromCanonical(s string) Node {
	if s == "null" {
		return Empty
	}
	return Node{s}
}

// JSON returns the node as canonical JSON in export form, "null" if absent.
func (n Node) JSON() string {
	if n.text == "" {
		return "null"
	}
	return n.text
}

// Text returns the canonical text, "" if the node is absent.
func (n Node) Text() string { return n.text }

// Clone returns an equal node whose text is not part of another one.
func (n Node) Clone() Node { return Node{strings.Clone(n.text)} }

// IsEmpty reports whether the node is absent.
func (n Node) IsEmpty() bool { return n.text == "" }

// IsLeaf reports whether the node is a boolean, a number or a string.
func (n Node) IsLeaf() bool { return n.text != "" && firstChild(n.text) < 0 }

// IsObject reports whether the node has children.
func (n Node) IsObject() bool { return firstChild(n.text) >= 0 }

// Priority returns the node's priority, a number or string leaf, or Empty.
func (n Node) Priority() Node {
	if !hasPriority(n.text) {
		return Empty
	}
	return Node{memberAt(n.text, 1).value(n.text)}
}

// Value returns the node without its own priority.
func (n Node) Value() Node {
	if !hasPriority(n.text) {
		return n
	}
	m := memberAt(n.text, memberAt(n.text, 1).valueEnd+1)
	if m.key(n.text) == `".value"` {
		return Node{m.value(n.text)}
	}
	return Node{"{" + n.text[m.start:]}
}

// WithPriority returns the node with the given priority, a number or string
// leaf; Empty removes it. An absent node takes no priority.
func (n Node) WithPriority(p Node) Node {
	if n.IsEmpty() || n.Priority() == p {
		return n
	}
	v := n.Value().text
	switch {
	case p.IsEmpty():
		return Node{v}
	case v[0] == '{':
		return Node{piecewise.Join(`{".priority":`, p.text, ",", v[1:])}
	}
	return Node{piecewise.Join(`{".priority":`, p.text, `,".value":`, v, "}")}
}

// Children yields the children in key order.
func (n Node) Children() iter.Seq2[string, Node] {
	return func(yield func(string, Node) bool) {
		for m := range n.members() {
			if !yield(unquote(m.key(n.text)), Node{m.value(n.text)}) {
				return
			}
		}
	}
}

func (n Node) members() iter.Seq[member] {
	return func(yield func(member) bool) {
		i := firstChild(n.text)
		if i < 0 {
			return
		}
		for i < len(n.text) && n.text[i] == '"' {
			m := memberAt(n.text, i)
			if !yield(m) {
				return
			}
			i = m.valueEnd + 1
		}
	}
}

// zip yields the keys that a or b has children for, in order, with the child of
// each. Both are in key order, so one pass is enough.
func zip(a, b Node) iter.Seq2[string, [2]Node] {
	return func(yield func(string, [2]Node) bool) {
		next, stop := iter.Pull2(b.Children())
		defer stop()
		bKey, bChild, more := next()
		for key, child := range a.Children() {
			for more && CompareKeys(bKey, key) < 0 {
				if !yield(bKey, [2]Node{Empty, bChild}) {
					return
				}
				bKey, bChild, more = next()
			}
			pair := [2]Node{child, Empty}
			if more && bKey == key {
				pair[1] = bChild
				bKey, bChild, more = next()
			}
			if !yield(key, pair) {
				return
			}
		}
		for more && yield(bKey, [2]Node{Empty, bChild}) {
			bKey, bChild, more = next()
		}
	}
}

// NumChildren returns the number of children.
func (n Node) NumChildren() int {
	count := 0
	for range n.members() {
		count++
	}
	return count
}

// Child returns the child with the given key, or Empty.
func (n Node) Child(key string) Node {
	if m, ok := n.find(quoteKey(key)); ok {
		return Node{m.value(n.text)}
	}
	return Empty
}

func (n Node) find(quoted string) (member, bool) {
	for m := range n.members() {
		if m.key(n.text) == quoted {
			return m, true
		}
	}
	return member{}, false
}

// Get returns the node at a path below n, or Empty.
func (n Node) Get(p Path) Node {
	for key := range p.Keys() {
		if n = n.Child(key); n.IsEmpty() {
			return n
		}
	}
	return n
}

// With returns n with the node at p replaced by v. It prunes what becomes
// empty. A leaf on the way becomes an object and keeps its priority; writing
// null below a leaf changes nothing (protocol §6).
//
// The texts in front of the path and behind it are copied, so it costs the size
// of the node. The store uses it for packed rows alone, which are small.
func (n Node) With(p Path, v Node) Node {
	key, rest, ok := p.Cut()
	if !ok {
		return v
	}
	if !n.IsObject() {
		if v = Empty.With(rest, v); v.IsEmpty() {
			return n
		}
		return Node{"{" + quoteKey(key) + ":" + v.text + "}"}.WithPriority(n.Priority())
	}
	m, ok := n.seek(key)
	if !rest.IsRoot() {
		var old Node
		if ok {
			old = Node{m.value(n.text)}
		}
		v = old.With(rest, v)
	}
	return n.splice(m.start, m.valueEnd, quoteKey(key), v)
}

// seek returns the member with the given key. If there is none, the member is
// empty and starts where it would be inserted.
func (n Node) seek(key string) (m member, ok bool) {
	end := 0
	for m := range n.members() {
		if c := CompareKeys(unquote(m.key(n.text)), key); c >= 0 {
			if c > 0 {
				m.valueEnd = m.start
			}
			return m, c == 0
		}
		end = m.valueEnd
	}
	return member{end, end, end}, false
}

// splice replaces the member at text[from:to], or inserts one if the range is
// empty. It keeps the commas right and prunes an object that becomes empty. It
// is the one place that knows how members are separated.
func (n Node) splice(from, to int, quoted string, v Node) Node {
	before, after := n.text[:from], n.text[to:]
	switch {
	case !v.IsEmpty() && from < to:
		return Node{before + quoted + ":" + v.text + after}
	case !v.IsEmpty() && after == "}": // behind the last child
		return Node{before + "," + quoted + ":" + v.text + after}
	case !v.IsEmpty():
		return Node{before + quoted + ":" + v.text + "," + after}
	case from == to:
		return n
	case after[0] == ',':
		return Node{before + after[1:]}
	case from == firstChild(n.text): // the only child
		return Empty
	}
	return Node{strings.TrimSuffix(before, ",") + after}
}

// WithTarget is With for a target: it replaces a value or sets a priority.
func (n Node) WithTarget(t Target, v Node) Node {
	if !t.Priority {
		return n.With(t.Path, v)
	}
	old := n.Get(t.Path)
	if old.IsEmpty() {
		return n
	}
	return n.With(t.Path, old.WithPriority(v))
}

// BoolValue returns a boolean leaf's value.
func (n Node) BoolValue() (value, ok bool) {
	switch n.Value().text {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// StringValue returns a string leaf's value.
func (n Node) StringValue() (string, bool) {
	v := n.Value().text
	if v == "" || v[0] != '"' {
		return "", false
	}
	return unquote(v), true
}

// NumberValue returns a number leaf's value as a double.
func (n Node) NumberValue() (float64, bool) {
	v := n.Value().text
	if v == "" || v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(v, 64)
	return f, err == nil
}
