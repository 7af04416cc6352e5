package audience

import (
	"cmp"
	"fmt"

	"github.com/dogwooddb/dogwood/sync/interval"
	"github.com/dogwooddb/dogwood/tree"
)

// A write to a child need not be compared with each query at a path above. Each group has an
// interval of index values: a child with a value outside of it is not in the group's view. So
// a write concerns only the groups whose interval has the value of the child before the write
// or after it. The interval of a full window ends with its last child, and so changes
// with it.

// IndexFrom is how many groups at one path have an index. To walk over fewer is cheaper, and
// their windows move without it.
const IndexFrom = 16

// pathGroups are the groups of one path.
type pathGroups struct {
	path   tree.Path
	groups []*group
	weight int // of their queries
	index  *groupIndex
	from   int // number of groups that have an index
}

// A groupIndex finds groups of one path.
//
// Without it a write costs each group of the path a comparison, which for
// 10,000 windows is tens of milliseconds. With it a write finds the groups
// whose interval contains the old or the new value. The price is that a window
// which moves its far end also moves in the tree.
type groupIndex struct {
	byID   map[string]*group
	orders map[string]*orderIndex // those with a query
}

// An orderIndex are the intervals of groups in one order.
type orderIndex struct {
	*interval.Tree[end, *group]
	need tree.Need // the first one that was in this order
}

// find returns the group of a query, nil if there is none.
func (at *pathGroups) find(id string) *group {
	if at.index != nil {
		return at.index.byID[id]
	}
	for _, g := range at.groups {
		if g.id == id {
			return g
		}
	}
	return nil
}

func (at *pathGroups) add(g *group) {
	g.at, g.slot = at, len(at.groups)
	at.groups = append(at.groups, g)
	at.weight += g.weight
	switch {
	case at.index != nil:
		at.index.add(g)
	case len(at.groups) >= at.from:
		at.index = &groupIndex{make(map[string]*group), make(map[string]*orderIndex)}
		for _, g := range at.groups {
			at.index.add(g)
		}
	}
}

func (at *pathGroups) remove(g *group) {
	if at.index != nil {
		at.index.remove(g)
	}
	last := len(at.groups) - 1
	at.groups[g.slot] = at.groups[last]
	at.groups[g.slot].slot = g.slot
	at.groups[last] = nil
	at.groups = at.groups[:last]
	at.weight -= g.weight
	if at.index != nil && last < at.from/2 {
		for _, g := range at.groups {
			g.intervals = nil
		}
		at.index = nil
	}
}

func (x *groupIndex) add(g *group) {
	x.byID[g.id] = g
	if g.query.IsAll() {
		return
	}
	for i := range max(1, len(g.needs())) {
		n := g.need(i)
		name := orderName(n)
		t := x.orders[name]
		if t == nil {
			t = &orderIndex{interval.New[end, *group](compareEnds), n}
			x.orders[name] = t
		}
		first, last := g.ends(n)
		g.intervals = append(g.intervals, t.Add(first, last, g))
	}
}

func (x *groupIndex) remove(g *group) {
	delete(x.byID, g.id)
	for i, in := range g.intervals {
		name := orderName(g.need(i))
		t := x.orders[name]
		if t.Remove(in); t.Len() == 0 {
			delete(x.orders, name)
		}
	}
	g.intervals = nil
}

// reindex tells the index that the window of a group has changed, or whether it is known.
func (g *group) reindex() {
	for i, in := range g.intervals {
		n := g.need(i)
		first, last := g.ends(n)
		g.at.index.orders[orderName(n)].Move(in, first, last)
	}
}

// These stand before the names of orders in which texts are found by their words, and of those of
// parts of filters. They are in no path.
const (
	wordsOf = "#"
	partOf  = "]"
)

// orderName returns the name of the order of a need.
func orderName(n tree.Need) string {
	switch {
	case n.Word != "":
		return wordsOf + n.Order
	case n.Part != nil:
		return partOf + n.Order
	}
	return n.Order
}

// needs returns what the filter of the group needs, if that is known.
func (g *group) needs() []tree.Need {
	if g.query.Filter == nil {
		return nil
	}
	return g.query.Filter.Needs()
}

// need returns where an interval of the group is: where its filter needs a value, or else in the
// order of its query. Of a thousand different filters, a child then concerns the few that need what
// it has.
func (g *group) need(i int) tree.Need {
	if needs := g.needs(); needs != nil {
		return needs[i]
	}
	return tree.Need{Order: g.query.Order(), Start: g.query.Start, End: g.query.End}
}

// ends returns the interval of a group in the order of a need.
func (g *group) ends(n tree.Need) (first, last end) {
	if n.Word != "" {
		return end{key: n.Word}, end{key: n.Word}
	}
	first, last = boundEnd(n.Order, n.Start, beforeAll), boundEnd(n.Order, n.End, afterAll)
	if size := len(g.window); g.live && g.query.Limit > 0 && size >= g.query.Limit && g.needs() == nil {
		if g.query.FromLast {
			first = entryEnd(g.window[0])
		} else {
			last = entryEnd(g.window[size-1])
		}
	}
	return first, last
}

// An end is one end of an interval, or a point: an entry, or what lies before or after all
// entries, or all those of one value.
type end struct {
	value tree.Node
	key   string
	rank  endRank
}

type endRank int8

// The ranks of ends. Those in the middle are a tree.KeyRank.
const (
	beforeAll  = beforeKeys - 1
	beforeKeys = endRank(tree.BeforeKeys)
	atKey      = endRank(tree.AtKey)
	afterKeys  = endRank(tree.AfterKeys)
	afterAll   = afterKeys + 1
)

func entryEnd(e tree.Entry) end { return end{value: e.Value, key: e.Key} }

// boundEnd returns the end of an interval for a bound in an order, and open if it is not set.
// An entry at an exclusive bound is inside of the interval, as it may be.
func boundEnd(order string, b tree.Bound, open endRank) end {
	switch {
	case !b.Set:
		return end{rank: open}
	case order == tree.ByKey:
		key, _ := b.Value.StringValue()
		return end{key: key}
	case b.KeyRank != tree.AtKey:
		return end{value: b.Value, rank: endRank(b.KeyRank)}
	}
	return end{value: b.Value, key: b.Key}
}

// compareEnds orders ends of one order as tree.Query.Compare orders entries.
func compareEnds(a, b end) int {
	if x, y := a.rank.outside(), b.rank.outside(); x != 0 || y != 0 {
		return cmp.Compare(x, y)
	}
	if c := tree.CompareRanked(a.value, tree.KeyRank(a.rank), b.value, tree.KeyRank(b.rank)); c != 0 {
		return c
	}
	if a.rank != atKey || b.rank != atKey {
		return cmp.Compare(a.rank, b.rank)
	}
	return tree.CompareKeys(a.key, b.key)
}

// outside returns on which side of all entries an end lies, 0 if it is among them.
func (r endRank) outside() int {
	switch r {
	case beforeAll:
		return -1
	case afterAll:
		return 1
	}
	return 0
}

// check verifies that the groups of a path know their places, and that the index has them.
func (at *pathGroups) check() error {
	weight := 0
	for i, g := range at.groups {
		weight += g.weight
		switch {
		case g.at != at || g.slot != i || at.find(g.id) != g:
			return fmt.Errorf("the group of %s at %s is not found", g.id, at.path)
		case (g.intervals != nil) != (at.index != nil && !g.query.IsAll()):
			return fmt.Errorf("of %s at %s there are intervals: %t", g.id, at.path, g.intervals != nil)
		}
		for i, in := range g.intervals {
			first, last := g.ends(g.need(i))
			if a, b := in.Ends(); compareEnds(a, first) != 0 || compareEnds(b, last) != 0 {
				return fmt.Errorf("interval %d of %s at %s is %v to %v, want %v to %v", i, g.id, at.path, a, b, first, last)
			}
		}
	}
	if weight != at.weight {
		return fmt.Errorf("the queries at %s weigh %d, and %d are counted", at.path, weight, at.weight)
	}
	return nil
}
