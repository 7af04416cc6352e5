package snapshot

import (
	"iter"

	"github.com/dogwooddb/dogwood/tree"
)

const (
	// maxFacts bounds what is remembered of the stored tree during an operation.
	maxFacts = 4096

	// fewFacts is how many facts are kept in a list. Searching so few is faster than
	// a map, and most operations never learn more.
	fewFacts = 16

	// MaxFactText is the longest string that is remembered along with others. Of
	// longer strings only the last is remembered.
	MaxFactText = 64 << 10
)

// Data is the tree before an operation. It remembers what it was asked, since
// rules ask about the same few paths again and again. The first error of reading
// stays in Err: after it the tree is empty, and the operation fails.
type Data struct {
	Err error

	data   tree.Reader
	few    []finding
	more   map[tree.Path]fact
	long   finding // the last string that was too long for the others
	budget *Budget // that reading is charged to
}

// A finding is a path with what is known of it.
type finding struct {
	path tree.Path
	fact fact
}

// A fact is what is known of one node.
type fact struct {
	known    knowledge // which of the others are valid
	exists   bool
	value    any // ValueOf the node
	priority any
	children int
}

// knowledge is a set of what a fact has.
type knowledge uint8

const (
	knowsExistence knowledge = 1 << iota
	knowsValue
	knowsPriority
	knowsChildren
)

func (t *Data) reset(data tree.Reader, b *Budget) {
	clear(t.few)
	t.data, t.few, t.more, t.Err = data, t.few[:0], nil, nil
	t.long, t.budget = finding{}, b
}

// recall returns what is known of p.
func (t *Data) recall(p tree.Path) fact {
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

// is reports whether the finding is about p.
func (f *finding) is(p tree.Path) bool { return f.fact.known != 0 && f.path == p }

// learn remembers what is known of p, in place of what was known before.
func (t *Data) learn(p tree.Path, f fact) {
	if s, ok := f.value.(string); ok && len(s) > MaxFactText {
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

// Failed notes an error of reading, and reports whether there is or was one.
func (t *Data) Failed(err error) bool {
	if err != nil && t.Err == nil {
		t.Err = err
	}
	return t.Err != nil
}

// unreadable reports whether there is nothing to read from.
func (t *Data) unreadable() bool { return t.data == nil || t.Err != nil }

// Exists reports whether there is a node at p.
func (t *Data) Exists(p tree.Path) bool {
	f := t.recall(p)
	if f.known&knowsExistence != 0 {
		return f.exists
	}
	if t.unreadable() {
		return false
	}
	exists, err := t.data.Has(p)
	if t.Failed(err) {
		return false
	}
	f.known |= knowsExistence
	if f.exists = exists; !exists {
		f.known |= knowsValue | knowsPriority
	}
	t.learn(p, f)
	return exists
}

// Value returns ValueOf the node at p. If the budget does not allow for reading it
// the value is nil, and the budget is over.
func (t *Data) Value(p tree.Path) any {
	f := t.recall(p)
	if f.known&knowsValue != 0 {
		return f.value
	}
	if t.unreadable() || t.budget.Over { // its length is not known before it is read
		return nil
	}
	leaf, isObject, short, err := t.peek(p)
	if t.Failed(err) {
		return nil
	}
	if !short {
		t.budget.Over, t.budget.Long = true, true
		return nil
	}
	if !t.budget.Charge(len(leaf.Text()), 1) {
		return nil
	}
	f.known |= knowsValue | knowsExistence
	if isObject {
		f.value = Object{}
	} else {
		f.known |= knowsPriority
		f.value, f.priority = ValueOf(leaf), ValueOf(leaf.Priority())
	}
	f.exists = f.value != nil
	t.learn(p, f)
	return f.value
}

// A counter is a tree that knows how many children a node has.
type counter interface {
	Count(p tree.Path, q tree.Query) (int, error)
}

// NumChildren returns the number of children of the node at p.
func (t *Data) NumChildren(p tree.Path) int {
	f := t.recall(p)
	if f.known&knowsChildren != 0 {
		return f.children
	}
	if t.unreadable() || !t.budget.Charge(FreeText, 1) {
		return 0
	}
	if c, ok := t.data.(counter); ok {
		n, err := c.Count(p, tree.Query{OrderBy: tree.ByKey})
		if t.Failed(err) {
			return 0
		}
		f.children = n
	} else {
		for range t.Keys(p) {
			if f.children++; !t.budget.Charge(FreeText, 1) {
				return 0
			}
		}
	}
	f.known |= knowsChildren
	t.learn(p, f)
	return f.children
}

// A Sized reader peeks at a node without reading a text that is longer than some bytes. ok is
// false if it is.
type Sized interface {
	PeekUpTo(p tree.Path, bytes int) (leaf tree.Node, isObject, ok bool, err error)
}

// peek peeks at the node at p. short is false if its text is known to be longer than the budget
// has for one.
func (t *Data) peek(p tree.Path) (leaf tree.Node, isObject, short bool, err error) {
	if sized, can := t.data.(Sized); can && t.budget.Most.Text > 0 {
		return sized.PeekUpTo(p, t.budget.Most.Text)
	}
	leaf, isObject, err = t.data.Peek(p)
	return leaf, isObject, true, err
}

// Priority returns ValueOf the priority of the node at p.
func (t *Data) Priority(p tree.Path) any {
	f := t.recall(p)
	if f.known&knowsPriority != 0 {
		return f.priority
	}
	if t.unreadable() {
		return nil
	}
	n, err := t.data.Priority(p)
	if t.Failed(err) {
		return nil
	}
	f.known |= knowsPriority
	f.priority = ValueOf(n)
	t.learn(p, f)
	return f.priority
}

// Keys yields the keys of the children of the node at p.
func (t *Data) Keys(p tree.Path) iter.Seq[string] {
	return func(yield func(string) bool) {
		if t.unreadable() {
			return
		}
		for key, err := range t.data.Keys(p) {
			if t.Failed(err) || !yield(key) {
				return
			}
		}
	}
}

// An Object is the value of a node that has children. Rules cannot tell such
// nodes apart, so it holds nothing.
type Object struct{}

// ValueOf returns the value of a node: nil, a bool, a float64, a string or Object.
func ValueOf(n tree.Node) any {
	text := n.Text()
	if text == "" {
		return nil
	}
	if n.IsObject() {
		return Object{}
	}
	if s, ok := n.StringValue(); ok {
		return s
	}
	if b, ok := n.BoolValue(); ok {
		return b
	}
	f, _ := n.NumberValue()
	return f
}
