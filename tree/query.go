package tree

import (
	"errors"
	"math"
	"sort"
	"strconv"
	"strings"
)

// The orders that are not child paths.
const (
	ByKey      = ".key"
	ByValue    = ".value"
	ByPriority = ".priority"
)

// A Query is an ordered window over the children of a node
// (protocol §5.2). The zero Query is everything, ordered by priority.
//
// It is comparable and used as a key of maps, so it has the zero value of an
// unused part, and no pointer but that of a filter. Two queries that select the same children in
// different spellings are different queries here; that costs a group of
// listeners and no correctness.
type Query struct {
	OrderBy    string // ByKey, ByValue, ByPriority, a child path "a/b", or a ListOrder; "" is ByPriority
	Start, End Bound
	Limit      int  // number of children; 0: no limit
	FromLast   bool // the limit counts from the end of the range

	Filter Filter // of the children in the range; nil: all of them. The limit counts what it matches
}

// A Bound is one end of a range. Entries are compared with it by index value
// and then by key. A value alone does not say where a bound lies among children
// of that value, hence the key and its rank.
type Bound struct {
	Set       bool
	Value     Node // a leaf or Empty for null; for ByKey the key as a string; for a ListOrder a list (ListBound)
	Key       string
	KeyRank   KeyRank
	Exclusive bool // the bound itself is outside
}

// A KeyRank says where a bound lies among entries of its own index value.
type KeyRank int8

// The ranks of a bound's key.
const (
	BeforeKeys KeyRank = -1 // below every key
	AtKey      KeyRank = 0  // at Bound.Key
	AfterKeys  KeyRank = 1  // above every key
)

// An Entry is a child as a query orders it: by index value, then by key.
type Entry struct {
	Value Node // index value without priority; unused for ByKey
	Key   string
}

// ErrQuery is the class of errors of queries that can't be answered.
var ErrQuery = errors.New("invalid query")

// Order returns the index the query orders by, never "".
func (q Query) Order() string {
	if q.OrderBy == "" {
		return ByPriority
	}
	return q.OrderBy
}

// IsAll reports whether the query selects every child, in whatever order.
func (q Query) IsAll() bool {
	return !q.Start.Set && !q.End.Set && q.Limit == 0 && q.Filter == nil
}

// NeedsIndex reports whether the query orders by something for which the rules
// must declare an index (protocol §5.2).
func (q Query) NeedsIndex() bool { return q.Order() != ByKey && q.Order() != ByPriority }

// ID returns a text that is equal exactly for equal queries.
func (q Query) ID() string {
	var b strings.Builder
	b.WriteString(strconv.Quote(q.Order()))
	for _, bound := range []Bound{q.Start, q.End} {
		b.WriteByte('|')
		if bound.Set {
			b.WriteString(bound.Value.JSON())
			b.WriteString(strconv.Itoa(int(bound.KeyRank)))
			b.WriteString(strconv.Quote(bound.Key))
			b.WriteString(strconv.FormatBool(bound.Exclusive))
		}
	}
	if q.Limit > 0 {
		b.WriteByte('|')
		b.WriteString(strconv.Itoa(q.Limit))
		b.WriteString(strconv.FormatBool(q.FromLast))
	}
	if q.Filter != nil {
		b.WriteString("|?")
		b.WriteString(q.Filter.Text())
	}
	return b.String()
}

// IndexValue returns what the query orders child by. It is Empty for ByKey.
func (q Query) IndexValue(child Node) Node { return IndexValue(q.Order(), child) }

// IndexValue returns what the given order sorts child by: a leaf, an object
// (all objects are equal), Empty, or for a ListOrder a list of these.
func IndexValue(order string, child Node) Node {
	switch order {
	case ByKey:
		return Empty
	case ByPriority:
		return child.Priority()
	case ByValue:
		return child.Value()
	}
	if IsListOrder(order) {
		return listIndexValue(order, child)
	}
	return child.Get(Path{order}).Value()
}

// Compare orders two entries.
func (q Query) Compare(a, b Entry) int {
	if q.Order() == ByKey {
		return CompareKeys(a.Key, b.Key)
	}
	return compareEntries(a, b)
}

func compareEntries(a, b Entry) int {
	if c := CompareValues(a.Value, b.Value); c != 0 {
		return c
	}
	return CompareKeys(a.Key, b.Key)
}

// InRange reports whether an entry lies between the bounds.
func (q Query) InRange(e Entry) bool {
	return q.AfterStart(e) && q.BeforeEnd(e)
}

// AfterStart reports whether the start of the range does not exclude e.
func (q Query) AfterStart(e Entry) bool {
	if !q.Start.Set {
		return true
	}
	c := q.compareBound(e, q.Start)
	return c > 0 || c == 0 && !q.Start.Exclusive
}

// BeforeEnd reports whether the end of the range does not exclude e.
func (q Query) BeforeEnd(e Entry) bool {
	if !q.End.Set {
		return true
	}
	c := q.compareBound(e, q.End)
	return c < 0 || c == 0 && !q.End.Exclusive
}

func (q Query) compareBound(e Entry, b Bound) int {
	if q.Order() == ByKey {
		key, _ := b.Value.StringValue()
		return CompareKeys(e.Key, key)
	}
	if c := CompareRanked(e.Value, AtKey, b.Value, b.KeyRank); c != 0 {
		return c
	}
	if b.KeyRank != AtKey {
		return -int(b.KeyRank)
	}
	return CompareKeys(e.Key, b.Key)
}

// Entries returns the entries of the query's window over n, in query order. Its filter may look at
// as much as it likes.
func (q Query) Entries(n Node) []Entry {
	entries, _ := q.EntriesBy(n, q.unbounded()) // of filters that fail, there are none
	return entries
}

// EntriesBy is Entries with the looks of a read. The error is one of these.
func (q Query) EntriesBy(n Node, looks *Looks) (entries []Entry, err error) {
	found, err := q.window(n, looks)
	for _, c := range found {
		entries = append(entries, c.Entry)
	}
	return entries, err
}

// unbounded returns looks at children that are at hand, as many as there are.
func (q Query) unbounded() *Looks {
	return &Looks{Filter: q.Filter, Most: math.MaxInt}
}

// Cut applies the query's limit to entries in query order.
func (q Query) Cut(entries []Entry) []Entry { return cut(q, entries) }

func cut[E any](q Query, entries []E) []E {
	switch {
	case q.Limit == 0 || len(entries) <= q.Limit:
		return entries
	case q.FromLast:
		return entries[len(entries)-q.Limit:]
	}
	return entries[:q.Limit]
}

// Apply returns n with only the children inside the query's window, which is
// what a filtered listen shows. A leaf has no children, so its window is empty.
func (q Query) Apply(n Node) Node {
	if q.IsAll() {
		return n
	}
	found, _ := q.window(n, q.unbounded())
	if len(found) > 1 {
		sort.Slice(found, func(i, j int) bool { return found[i].at.start < found[j].at.start })
	}
	var b Builder
	b.Priority(n.Priority())
	for _, c := range found {
		b.Child(c.Key, Node{c.at.value(n.text)})
	}
	return b.Node()
}

// SortKeys sorts keys in the order of [CompareKeys].
func SortKeys(keys []string) {
	sort.Slice(keys, func(i, j int) bool { return CompareKeys(keys[i], keys[j]) < 0 })
}

// SortEntries sorts entries by what compare says of two.
func SortEntries(list []Entry, compare func(a, b Entry) int) {
	if len(list) > 1 {
		sort.Slice(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
	}
}

// A candidate is a child that may be in the window, and where it stands.
type candidate struct {
	Entry
	at member
}

// window returns the children in the query's window, in query order. It drops
// what the limit excludes whenever there is twice as much, so that a small
// window over many children stays cheap. It is the reference for the index
// walks of the store, and the way in which packed rows are queried.
func (q Query) window(n Node, looks *Looks) ([]candidate, error) {
	var found []candidate
	byKey := q.Order() == ByKey
	for m := range n.members() {
		e := Entry{q.IndexValue(Node{m.value(n.text)}), unquote(m.key(n.text))}
		if !q.InRange(e) {
			continue
		}
		if ok, err := looks.AtChild(e.Key, Node{m.value(n.text)}); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		found = append(found, candidate{e, m})
		switch {
		case byKey && !q.FromLast && len(found) == q.Limit:
			return found, nil
		case len(found) == 2*q.Limit:
			found = q.trim(found)
			q.narrow(found)
		}
	}
	return q.trim(found), nil
}

// trim puts the candidates in query order and cuts them to the limit.
func (q Query) trim(found []candidate) []candidate {
	if q.Order() != ByKey && len(found) > 1 {
		sort.Slice(found, func(i, j int) bool { return compareEntries(found[i].Entry, found[j].Entry) < 0 })
	}
	return append(found[:0], cut(q, found)...)
}

// narrow moves a bound to the edge of a full window: what lies beyond can't get
// in any more. By key, what comes later always lies within.
func (q *Query) narrow(window []candidate) {
	switch first, last := window[0], window[len(window)-1]; {
	case q.Order() == ByKey:
	case q.FromLast:
		q.Start = Bound{Set: true, Value: first.Value, Key: first.Key}
	default:
		q.End = Bound{Set: true, Value: last.Value, Key: last.Key}
	}
}
