package invariant

import (
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree"
)

// A value is a leaf without its priority, or the fact that a node has children.
// It is absent if it is neither.
type value struct {
	leaf     tree.Node
	isObject bool
}

func (s *scan) value(p tree.Path) (value, error) {
	leaf, isObject, err := s.r.Peek(p)
	return value{leaf.Value(), isObject}, err
}

// key returns the key that the value would be; ok is false if it is none.
func (v value) key() (key string, ok bool) {
	if v.isObject || v.leaf.IsEmpty() {
		return "", false
	}
	if s, isString := v.leaf.StringValue(); isString {
		return s, true
	}
	return v.leaf.JSON(), true
}

// atMost reports whether the value is not above another one. It is not compared with
// one of another type: any text would be above any number.
func (v value) atMost(other value) bool {
	_, isText := v.leaf.StringValue()
	_, otherIsText := other.leaf.StringValue()
	_, isNumber := v.leaf.NumberValue()
	_, otherIsNumber := other.leaf.NumberValue()
	sameType := isText == otherIsText && isNumber == otherIsNumber && !v.isObject && !other.isObject
	return sameType && tree.CompareValues(v.leaf, other.leaf) <= 0
}

// maxShown bounds what is shown of a value, in bytes.
const maxShown = 100

// String returns the value for a report.
func (v value) String() string {
	if v.isObject {
		return "an object"
	}
	text := v.leaf.JSON()
	if len(text) <= maxShown {
		return text
	}
	cut := maxShown
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:cut], len(text))
}

// A difference is a place where two values that should be equal are not.
type difference struct {
	a, b   tree.Path
	av, bv value
}

// compare returns the first difference of what is at two paths, nil if there is
// none. It reads both sides child by child, so that they can have any size.
func (s *scan) compare(a, b tree.Path) (*difference, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	av, err := s.value(a)
	if err != nil {
		return nil, err
	}
	bv, err := s.value(b)
	switch {
	case err != nil:
		return nil, err
	case av != bv:
		return &difference{a, b, av, bv}, nil
	case !av.isObject:
		return nil, nil
	}
	return s.compareChildren(a, b)
}

func (s *scan) compareChildren(a, b tree.Path) (*difference, error) {
	next, stop := iter.Pull2(s.r.Keys(b))
	defer stop()
	for key, err := range s.r.Keys(a) {
		if err != nil {
			return nil, err
		}
		other, err, more := next()
		if err != nil {
			return nil, err
		}
		if more && tree.CompareKeys(other, key) < 0 { // only b has it
			return s.compare(a.Child(other), b.Child(other))
		}
		if d, err := s.compare(a.Child(key), b.Child(key)); err != nil || d != nil {
			return d, err
		}
	}
	key, err, more := next()
	if err != nil || !more {
		return nil, err
	}
	return s.compare(a.Child(key), b.Child(key))
}

// lower is the form of a value that an index of lower-case keys has.
func lower(yes bool) func(string) string {
	if yes {
		return strings.ToLower
	}
	return asIs
}
