package tree

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// MaxOrder is how many child paths children can be ordered by.
const MaxOrder = 4

// An order by several child paths is the JSON text of their list, as in ["owner","created"]:
// no child path begins with a bracket, and so a Query stays comparable. It orders a child by a
// list of values, and a Node keeps the text of that list. Such a node is never a part of a
// tree. Bounds have lists, too. One that is shorter than the order is a prefix: it stands for
// all children whose values begin with it.

// ListOrder returns the order by the values at several child paths: by that at the first, then
// by that at the second, and so on. An order by one path is that path.
func ListOrder(paths []string) (string, error) {
	if len(paths) == 0 || len(paths) > MaxOrder {
		return "", fmt.Errorf("an order has 1 to %d child paths, and not %d", MaxOrder, len(paths))
	}
	clean := make([]string, len(paths))
	for i, text := range paths {
		p, err := ParsePath(text)
		if err != nil || p.IsRoot() {
			return "", fmt.Errorf("%.100q is no child path; an order by several has only such", text)
		}
		if clean[i] = p.Clean(); slices.Contains(clean[:i], clean[i]) {
			return "", fmt.Errorf("the order has %.100q twice", clean[i])
		}
	}
	if len(clean) == 1 {
		return clean[0], nil
	}
	b := []byte{'['}
	for i, path := range clean {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsontext.AppendQuoted(b, path)
	}
	return string(append(b, ']')), nil
}

// IsListOrder reports whether an order is by several child paths.
func IsListOrder(order string) bool { return order != "" && order[0] == '[' }

// OrderPaths yields the child paths of an order by several of them, none for other orders.
func OrderPaths(order string) iter.Seq[Path] {
	return func(yield func(Path) bool) {
		if !IsListOrder(order) {
			return
		}
		for i := 1; i < len(order); {
			end := jsontext.SkipString(order, i)
			if !yield(Path{unquote(order[i:end])}) {
				return
			}
			i = end + 1
		}
	}
}

// orderLength returns how many values an order has of each child.
func orderLength(order string) int {
	n := 0
	for range OrderPaths(order) {
		n++
	}
	return max(n, 1)
}

// ListValue returns what an order by several child paths has of a child that has these values
// there. All objects are equal.
func ListValue(values []Node) Node {
	b := []byte{'['}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		if v = v.Value(); v.IsObject() {
			b = append(b, "{}"...)
		} else {
			b = append(b, v.JSON()...)
		}
	}
	return Node{string(append(b, ']'))}
}

// IsList reports whether a node is a list of values: not of a tree, but of an order by several
// child paths.
func (n Node) IsList() bool { return n.text != "" && n.text[0] == '[' }

// List yields the values of a list, and of any other node itself.
func (n Node) List() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if !n.IsList() {
			yield(n)
			return
		}
		r := listReader{n.text, 1}
		for v, ok := r.next(); ok && yield(v); v, ok = r.next() {
		}
	}
}

// A listReader reads the values of a list's text.
type listReader struct {
	text string
	at   int
}

func (r *listReader) next() (v Node, ok bool) {
	if r.at >= len(r.text)-1 {
		return Empty, false
	}
	end := jsontext.SkipValue(r.text, r.at)
	v = FromCanonical(r.text[r.at:end])
	r.at = end + 1
	return v, true
}

// CompareRanked orders values as CompareValues does. One may be a prefix of the other:
// then its rank tells whether it lies before or after all that begin with it.
func CompareRanked(a Node, aRank KeyRank, b Node, bRank KeyRank) int {
	if a == b {
		return 0
	}
	if !a.IsList() || !b.IsList() {
		return CompareValues(a, b)
	}
	x, y := listReader{a.text, 1}, listReader{b.text, 1}
	for {
		v, more := x.next()
		w, others := y.next()
		switch {
		case !more && !others:
			return 0
		case !more:
			return prefixSide(aRank)
		case !others:
			return -prefixSide(bRank)
		}
		if c := CompareValues(v, w); c != 0 {
			return c
		}
	}
}

// prefixSide returns on which side of what begins with a prefix that lies. One without a rank
// is a list and the other a longer one, which no order has.
func prefixSide(rank KeyRank) int {
	if rank == AfterKeys {
		return 1
	}
	return -1
}

// ListBound returns the value of a bound that is given as a list. Its values are null, booleans,
// numbers or strings, one for each child path of the order or for the first of them.
func (q Query) ListBound(values []Node) (Node, error) {
	most := orderLength(q.Order())
	switch order := q.Order(); {
	case order == ByKey, order == ByValue, order == ByPriority:
		return Empty, errors.New("a bound is a list only if the order is by child paths")
	case len(values) == 0:
		return Empty, errors.New("a bound that is a list has at least one value")
	case len(values) > most:
		return Empty, fmt.Errorf("the bound has %s, and the order has %s", counted(len(values), "value"), counted(most, "child path"))
	}
	for _, v := range values {
		if !v.IsEmpty() && !v.IsLeaf() || !v.Priority().IsEmpty() || v.IsList() {
			return Empty, errors.New("the values of a bound are null, booleans, numbers or strings")
		}
	}
	if !IsListOrder(q.Order()) {
		return values[0], nil
	}
	return ListValue(values), nil
}

// CheckBound reports why a bound does not fit the order, nil if it does or is not set.
func (q Query) CheckBound(b Bound) error {
	switch {
	case !b.Set || !IsListOrder(q.Order()):
		return nil
	case !b.Value.IsList():
		return fmt.Errorf("the order has %s, so a bound is a list of values", counted(orderLength(q.Order()), "child path"))
	case b.KeyRank != AtKey:
		return nil
	}
	n := 0
	for range b.Value.List() {
		n++
	}
	if n < orderLength(q.Order()) {
		return errors.New("a bound with a key has a value for each child path of the order")
	}
	return nil
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// listIndexValue is IndexValue for an order by several child paths.
func listIndexValue(order string, child Node) Node {
	values := make([]Node, 0, MaxOrder)
	for p := range OrderPaths(order) {
		values = append(values, child.Get(p).Value())
	}
	return ListValue(values)
}

// OrderWords returns an order as it is written in JSON: a list of child paths, or a string.
func OrderWords(order string) string {
	if IsListOrder(order) {
		return order
	}
	if rest, special := strings.CutPrefix(order, "."); special { // of .key and so on
		order = "$" + rest
	}
	return string(jsontext.AppendQuoted(nil, order))
}
