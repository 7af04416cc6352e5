package rules

import (
	"iter"

	"github.com/dogwooddb/dogwood/tree"
)

const (
	// maxFacts bounds what is remembered of the stored tree during an operation.
	maxFacts = 4096

	// fewFacts is how many facts are kept in a list. Looking through so few is
	// faster than a map, and most operations never learn more.
	fewFacts = 16

	// maxFactText is the longest string that is remembered along with others. Of
	// longer ones it is the last.
	maxFactText = 64 << 10
)

// An oldTree is the tree before an operation. It remembers what it was asked,
// since rules ask about the same few places again and again. The first error of
// reading stays in err: after it nothing is there, and the operation is lost.
type oldTree struct {
	data tree.Reader
	few  []finding
	more map[tree.Path]fact
	long finding // the last string that was too long for the others
	err  error

	budget *budget // that reading is charged to
}

// A finding is a path with what is known of it.
type finding struct {
	path tree.Path
	fact fact
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

func (t *oldTree) reset(data tree.Reader, b *budget) {
	clear(t.few)
	t.data, t.few, t.more, t.err = data, t.few[:0], nil, nil
	t.long, t.budget = finding{}, b
}

// recall returns what is known of p.
func (t *oldTree) recall(p tree.Path) fact {
	for i := range t.few {
		if t.few[i].path == p {
			return t.few[i].fact
		}
	}
	if t.long.is(p) {
		return t.long.fact
	}
	return t.more[p]
}

// is reports whether something is known of p.
func (f *finding) is(p tree.Path) bool { return f.fact.known != 0 && f.path == p }

func (t *oldTree) learn(p tree.Path, f fact) {
	if s, ok := f.value.(string); ok && len(s) > maxFactText {
		t.long = finding{p, f}
		return
	}
	if t.long.is(p) {
		t.long.fact = f
		return
	}
	for i := range t.few {
		if t.few[i].path == p {
			t.few[i].fact = f
			return
		}
	}
	switch {
	case len(t.few) < fewFacts:
		t.few = append(t.few, finding{p, f})
		return
	case t.more == nil:
		t.more = make(map[tree.Path]fact)
	case len(t.more) == maxFacts:
		clear(t.more)
	}
	t.more[p] = f
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
	f := t.recall(p)
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

// value returns valueOf the node at p. If the budget doesn't allow for that it is
// null, and the budget is over.
func (t *oldTree) value(p tree.Path) any {
	f := t.recall(p)
	if f.known&knowsValue != 0 {
		return f.value
	}
	if t.unreadable() || t.budget.over { // how long it is takes reading it
		return nil
	}
	leaf, isObject, err := t.data.Peek(p)
	if t.failed(err) {
		return nil
	}
	if !t.budget.charge(len(leaf.Text()), 1) {
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
	f := t.recall(p)
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
