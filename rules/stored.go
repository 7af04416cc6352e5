package rules

import (
	"iter"

	"github.com/dogwooddb/dogwood/tree"
)

const (
	// maxFacts bounds what is remembered of the stored tree during an operation.
	maxFacts = 4096

	// maxFactText is the longest string that is remembered.
	maxFactText = 64 << 10
)

// An oldTree is the tree before an operation. It remembers what it was asked,
// since rules ask about the same few places again and again. The first error of
// reading stays in err: after it nothing is there, and the operation is lost.
type oldTree struct {
	data  tree.Reader
	facts map[tree.Path]fact
	err   error
}

// A fact is what is known of one place.
type fact struct {
	known    knowledge
	exists   bool
	value    any // valueOf the node
	priority any
}

type knowledge uint8

const (
	knowsExistence knowledge = 1 << iota
	knowsValue
	knowsPriority
)

func (t *oldTree) reset(data tree.Reader) {
	switch n := len(t.facts); {
	case n > 64: // clearing costs what the map once held
		t.facts = nil
	case n > 0:
		clear(t.facts)
	}
	t.data, t.err = data, nil
}

func (t *oldTree) learn(p tree.Path, f fact) {
	switch {
	case t.facts == nil:
		t.facts = make(map[tree.Path]fact)
	case len(t.facts) == maxFacts:
		clear(t.facts)
	}
	if s, ok := f.value.(string); ok && len(s) > maxFactText {
		return
	}
	t.facts[p] = f
}

// failed notes an error of reading.
func (t *oldTree) failed(err error) bool {
	if err != nil && t.err == nil {
		t.err = err
	}
	return t.err != nil
}

// unreadable reports whether there is nothing to read from.
func (t *oldTree) unreadable() bool { return t.data == nil || t.err != nil }

func (t *oldTree) exists(p tree.Path) bool {
	f := t.facts[p]
	if f.known&knowsExistence != 0 {
		return f.exists
	}
	if t.unreadable() {
		return false
	}
	exists, err := t.data.Has(p)
	if t.failed(err) {
		return false
	}
	f.known |= knowsExistence
	if f.exists = exists; !exists {
		f.known |= knowsValue | knowsPriority
	}
	t.learn(p, f)
	return exists
}

// value returns valueOf the node at p.
func (t *oldTree) value(p tree.Path) any {
	f := t.facts[p]
	if f.known&knowsValue != 0 {
		return f.value
	}
	if t.unreadable() {
		return nil
	}
	leaf, isObject, err := t.data.Peek(p)
	if t.failed(err) {
		return nil
	}
	f.known |= knowsValue | knowsExistence
	if isObject {
		f.value = object{}
	} else {
		f.known |= knowsPriority
		f.value, f.priority = valueOf(leaf), valueOf(leaf.Priority())
	}
	f.exists = f.value != nil
	t.learn(p, f)
	return f.value
}

func (t *oldTree) priority(p tree.Path) any {
	f := t.facts[p]
	if f.known&knowsPriority != 0 {
		return f.priority
	}
	if t.unreadable() {
		return nil
	}
	n, err := t.data.Priority(p)
	if t.failed(err) {
		return nil
	}
	f.known |= knowsPriority
	f.priority = valueOf(n)
	t.learn(p, f)
	return f.priority
}

// keys yields the keys of the children of the node at p.
func (t *oldTree) keys(p tree.Path) iter.Seq[string] {
	return func(yield func(string) bool) {
		if t.unreadable() {
			return
		}
		for key, err := range t.data.Keys(p) {
			if t.failed(err) || !yield(key) {
				return
			}
		}
	}
}
