package expression

import (
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/dogwooddb/dogwood/rules/internal/eval"
	"github.com/dogwooddb/dogwood/rules/internal/snapshot"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// Bounds of filters.
const (
	MaxFilter = 4 << 10 // bytes of text

	// Bounds of a look at one child. A filter that would spend more does not match it.
	MaxLookText  = 256 << 10 // bytes of one text of the child
	MaxLookSpent = 8 << 20   // bytes of texts; of those that a regular expression looks at, 32 for each
	MaxLookSteps = 1 << 20   // of regular expressions

	// Regular expressions of a filter: characters with repeats written out, and bytes of their sets.
	// Rules may have much larger ones, but anyone may send a filter.
	MaxFilterSteps = 500
	MaxFilterSets  = 16 << 10

	DefaultLooks = 10_000  // children that one read looks at
	MaxLooks     = 100_000 // the most that a read may ask for
)

// A Filter is a condition about the children of a node: data is the child, and key is its
// key. It never changes. It is a [tree.Filter]. An example, of the children of /rooms:
//
//	data.child('type').val() == 'public' && data.child('people').val() > 5
//
// Anyone may send one, so all of it is bounded: the text and its regular expressions when it is
// compiled, the look at one child (MaxLook…), the looks of one read, and their sum
// ([tree.Looks]).
type Filter struct {
	x    *Expression
	text string // canonical
	most int    // children that one read may look at; never 0
}

// filterKey is the variable that has the key of a child, with its depth in the tree that the
// expression sees.
var filterKey = map[string]int{"key": 0}

// NewFilter compiles a filter. A read may look at most children; 0 is DefaultLooks. The caller
// checks that most is between 0 and MaxLooks. The offset of an error is in text, in bytes.
func NewFilter(text string, most int) (*Filter, *lang.Error) {
	if len(text) > MaxFilter {
		return nil, &lang.Error{Offset: MaxFilter, Msg: "A filter has at most 4096 bytes."}
	}
	x, err := filters.compile(text)
	if err != nil {
		return nil, err
	}
	if most == 0 {
		most = DefaultLooks
	}
	return &Filter{x, x.String(), most}, nil
}

// Text returns the filter in canonical form.
func (f *Filter) Text() string { return f.text }

// Size returns about how much memory the compiled filter takes. Equal ones share it as long as they
// are kept.
func (f *Filter) Size() int { return f.x.size }

// Most returns how many children one read may look at.
func (f *Filter) Most() int { return f.most }

// Needs returns what children that match have.
func (f *Filter) Needs() []tree.Need { return f.x.needs }

// Words returns the words of a text, in lower case.
func Words(s string) []string { return eval.Words(s) }

// evaluations are Child values that are not in use. To make one takes longer than most
// filters do.
var evaluations = sync.Pool{New: func() any { return new(Child) }}

// Match reports whether the filter matches a child. An expression that fails does not match:
// what is stored must not be able to make a query fail. Short texts count as spent, too, and so
// does the filter itself, since a client may write a long filter about them. err is an error of
// reading; the outcome means nothing then.
func (f *Filter) Match(data tree.Reader, parent tree.Path, key string, most int) (matches bool, spent int, err error) {
	c, own := childOf(data, parent)
	if own {
		defer c.Close()
	}
	n, fault, spent, err := c.value(f.x, key, most)
	return fault == "" && n == tree.Bool(true), spent, err
}

// childOf returns a tree for filters in which the children of a node are those of the root. own says
// that it has to be closed.
func childOf(data tree.Reader, parent tree.Path) (c *Child, own bool) {
	if c, ok := data.(*Child); ok && parent.IsRoot() {
		return c, false
	}
	if !parent.IsRoot() {
		data = below{data, parent}
	}
	return NewChild(data), true
}

// A part is an expression that a filter compares with a constant.
type part struct{ x *Expression }

// Value is that of a [tree.Need]. A filter whose part fails does not match, so Empty is the right
// value of such a part. known is false for a value that is no leaf, such as NaN or an object.
func (p part) Value(data tree.Reader, parent tree.Path, key string, most int) (n tree.Node, known bool, spent int, err error) {
	c, own := childOf(data, parent)
	if own {
		defer c.Close()
	}
	n, fault, spent, err := c.value(p.x, key, most)
	return n, fault == "" || c.trees.e.Fault() != "", spent, err
}

// A Child is a tree whose child several filters look at. None of them reads again the parts that
// another one has read. One goroutine may use it, until Close; meanwhile the tree must not change.
//
// It is a tree.Reader so that it can be passed to Match as the data, with the root as the parent:
// childOf recognizes it there. Its bounds are those of one filter at a time, see value. After
// Close it belongs to the pool, and the former owner must not touch it.
type Child struct {
	tree.Reader
	trees Trees
}

// NewChild returns a tree for filters.
func NewChild(data tree.Reader) *Child {
	c := evaluations.Get().(*Child)
	c.Reader = data
	c.trees.Begin(data, nil)
	return c
}

// Close lets go of the tree.
func (c *Child) Close() {
	c.trees.End()
	c.Reader = nil
	evaluations.Put(c)
}

// value evaluates an expression within the bounds of a filter, and within most.
//
// Two kinds of bounds meet here. Those of a look at one child are the same for each read: beyond
// them the child does not match. most is what the read has left: if it ran out because of that,
// spent is more than most, and the read fails as a whole. Otherwise a child would match or not
// depending on how much the children before it took.
func (c *Child) value(x *Expression, key string, most int) (n tree.Node, fault string, spent int, err error) {
	if most < len(x.source) {
		return tree.Empty, "", most + 1, nil
	}
	t := &c.trees
	t.Most = Bounds{Text: MaxLookText, Spent: min(MaxLookSpent, most+1), Steps: min(MaxLookSteps, most/stepCost+1)}
	t.Renew()
	n, fault = t.Value(x, tree.Root.Child(key), false)
	spent = t.bytes + t.steps*stepCost + t.free + len(x.source)
	if b := t.e.Budget; b.Over && !b.Long && (most < MaxLookSpent || most < MaxLookSteps*stepCost) { // it may be because of most
		spent = max(spent, most+1)
	}
	return n, fault, spent, t.Err()
}

// stepCost is what a step of a regular expression counts for.
const stepCost = 4

// below is the part of a tree below a path. Expressions see no more of it.
type below struct {
	of   tree.Reader
	path tree.Path
}

func (b below) Get(p tree.Path) (tree.Node, error) { return b.of.Get(b.path.Join(p)) }
func (b below) Has(p tree.Path) (bool, error)      { return b.of.Has(b.path.Join(p)) }

func (b below) Peek(p tree.Path) (tree.Node, bool, error) { return b.of.Peek(b.path.Join(p)) }

// PeekUpTo is that of a snapshot.Sized. A text that is longer than a filter may look at is not read: a
// write with many listeners would read it for each of them.
func (b below) PeekUpTo(p tree.Path, bytes int) (leaf tree.Node, isObject, ok bool, err error) {
	if sized, can := b.of.(snapshot.Sized); can {
		return sized.PeekUpTo(b.path.Join(p), bytes)
	}
	leaf, isObject, err = b.Peek(p)
	return leaf, isObject, len(leaf.Text()) <= bytes, err
}

func (b below) Priority(p tree.Path) (tree.Node, error)   { return b.of.Priority(b.path.Join(p)) }
func (b below) Keys(p tree.Path) iter.Seq2[string, error] { return b.of.Keys(b.path.Join(p)) }

// Bounds of the filters that are kept compiled, of all databases, and of their parts: how many, and
// about how much memory they take.
const (
	maxKept     = 4096
	MaxCompiled = 16 << 20
)

// sizeOfByte is about how much memory a byte of an expression takes when it is compiled, and
// sizeOfFilter what each takes in addition.
const (
	sizeOfByte   = 64
	sizeOfFilter = 1 << 10
)

// sizeOf returns about how much memory a compiled expression takes.
func sizeOf(x lang.Expr, text string) int {
	size := sizeOfFilter + sizeOfByte*len(text)
	lang.Walk(x, func(x lang.Expr) bool {
		if re, ok := x.(*lang.Regex); ok {
			size += re.Machine.Size()
		}
		return true
	})
	return size
}

// parseFilter parses a filter within its bounds. They are checked while parsing: a pattern such as
// (a{1000}){1000} is short, and large once its repeats are written out.
func parseFilter(src string, d lang.Dialect) (lang.Expr, *lang.Error) {
	return lang.ParseWithin(src, d, lang.RegexBounds{
		Steps: MaxFilterSteps,
		Size:  MaxFilterSets,
		Text:  fmt.Sprintf("The regular expressions of a filter are too large. At most %d characters with repeats written out are allowed, and sets of characters of %d KiB.", MaxFilterSteps, MaxFilterSets>>10),
	})
}

// filters are the filters that were compiled lately. Clients come back with the same texts.
var filters compiled

// compiled is a cache of the whole process, for all databases. byText has filters by the text
// that was sent, parts has parts of filters by their canonical text. They are separate because
// parts are compiled without the check that a filter is boolean.
type compiled struct {
	sync.Mutex    // guards both
	byText, parts kept
}

// kept are expressions by their texts. An expression that is forgotten stays valid for the filters
// that have it; it is only compiled again for the next one.
type kept struct {
	by    map[string]*Expression
	bytes int
}

// compile returns the filter of a text. The lock is not held while it compiles, which may take
// long: two goroutines may compile the same text, and the later one replaces the other. Errors
// are not kept. The text is cloned as a key because it may be a part of a whole request.
func (c *compiled) compile(text string) (*Expression, *lang.Error) {
	c.Lock()
	x := c.byText.by[text]
	c.Unlock()
	if x != nil {
		return x, nil
	}
	var parsed lang.Expr
	x, err := compile(parseFilter, text, lang.Scope{Extensions: lang.Extensions{Text: true}}, filterKey, func(x lang.Expr, s lang.Scope) *lang.Error {
		parsed = x
		return lang.Check(x, s)
	})
	if err != nil {
		return nil, err
	}
	x.needs, x.size = needsOf(parsed), sizeOf(parsed, text)
	c.Lock()
	defer c.Unlock()
	c.byText.keep(strings.Clone(text), x)
	return x, nil
}

// keep keeps an expression by a text. If there is no room, it forgets all others: that needs no
// record of what was used last, and costs one compilation for each text that is still in use.
func (k *kept) keep(text string, x *Expression) {
	if k.by == nil || len(k.by) >= maxKept || k.bytes+x.size > MaxCompiled {
		*k = kept{by: make(map[string]*Expression)}
	}
	if old := k.by[text]; old != nil {
		k.bytes -= old.size
	}
	k.by[text] = x
	k.bytes += x.size
}

// partOfFilter compiles an expression in a filter that was checked. ok is false if that yields
// nothing that compares. Its text is the order of the need, by which equal parts of different
// filters are recognized: the part is then evaluated once for a child. It compiles with the lock
// held, which does not take long: a part is parsed and checked already.
func partOfFilter(x lang.Expr) (text string, p part, ok bool) {
	if x.Type()&storable == 0 {
		return "", p, false
	}
	text = x.String()
	filters.Lock()
	defer filters.Unlock()
	c := filters.parts.by[text]
	if c == nil {
		program, err := eval.Compile(x, filterKey)
		if err != nil {
			return "", p, false
		}
		c = &Expression{program: program, source: text, size: sizeOf(x, text)}
		filters.parts.keep(text, c)
	}
	return text, part{c}, true
}
