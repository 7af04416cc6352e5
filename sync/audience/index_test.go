package audience

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// TestEnds: ends are ordered as a query orders entries, and what is in a query's range is in
// its interval.
func TestEnds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	m := indexModel{rnd: rnd}
	for range 20_000 {
		q := m.query()
		q.Limit, q.Filter = 0, nil
		a, b := m.entry(q), m.entry(q)
		if got, want := compareEnds(entryEnd(a), entryEnd(b)), q.Compare(a, b); got != want {
			t.Fatalf("by %s %v and %v compare as %d, want %d", q.Order(), a, b, got, want)
		}
		g := &group{query: q}
		first, last := g.ends(g.need(0))
		p := entryEnd(a)
		inside := compareEnds(first, p) <= 0 && compareEnds(p, last) <= 0
		if q.InRange(a) && !inside {
			t.Fatalf("%v is in the range of %s, and not in its interval", a, q.ID())
		}
		if exclusive := q.Start.Exclusive || q.End.Exclusive; inside && !exclusive && !q.InRange(a) {
			t.Fatalf("%v is in the interval of %s, and not in its range", a, q.ID())
		}
	}
}

// TestVisitsFewGroups: what a write costs depends on the queries that it concerns, not on how
// many there are.
func TestVisitsFewGroups(t *testing.T) {
	const many = 10_000
	number := func(n int) tree.Bound {
		return tree.Bound{Set: true, Value: tree.Number(float64(n)), KeyRank: tree.BeforeKeys}
	}
	h := newHouse(t, nil)
	h.set("/l", `{"a":{"n":-5},"b":{"n":-4},"c":{"n":5000},"d":{"n":5001.5}}`)
	var listeners []*Listener
	for i := range many {
		end := number(i)
		end.KeyRank = tree.AfterKeys
		for _, q := range []tree.Query{
			{OrderBy: "n", Start: number(i), End: end},                                                          // equal
			{OrderBy: "n", Start: number(-10 - i), Limit: 2},                                                    // full before 0
			{OrderBy: tree.ByKey, End: tree.Bound{Set: true, Value: tree.String(fmt.Sprint("b", i))}, Limit: 1}, // full with a
		} {
			l := h.listener("/l", "")
			l.read.Query, l.weight = q, 0
			h.hub.add(l, l.read.Path, q)
			l.group.live = true
			if q.Limit > 0 {
				l.group.window = []tree.Entry{{Key: "a"}}
				if q.Limit == 2 {
					l.group.window = []tree.Entry{{Value: tree.Number(-5), Key: "a"}, {Value: tree.Number(-4), Key: "b"}}
				}
			}
			l.group.reindex()
			listeners = append(listeners, l)
		}
	}
	for _, c := range []struct {
		path, value string
		want        int
	}{
		{"/l/c/text", `"x"`, 1},
		{"/l/d/n", "7000", 1}, // comes into one
		{"/l/d/n", "7001", 2}, // goes from one to another
		{"/l/e", `{"n":-1}`, 0},
		{"/l/e/n", "3", 1},
		{"/l/other", "null", 0},
	} {
		if got := h.visits(c.path, c.value); got != c.want {
			t.Errorf("%s = %s visits %d groups, want %d", c.path, c.value, got, c.want)
		}
	}
	for _, l := range listeners {
		h.hub.remove(l)
	}
	if !h.hub.None() {
		t.Error("groups are left")
	}
}

// TestManyTouchedChildren: an update of many children that many queries see does not look at
// each of them for each query. The listeners that it does not work out an event for are sent
// their views.
func TestManyTouchedChildren(t *testing.T) {
	const queries, children = 400, 1000
	var writes []tree.ResolvedWrite
	for i := range children {
		path := tree.MustParsePath(fmt.Sprint("/l/k", i))
		writes = append(writes, tree.ResolvedWrite{Target: tree.Target{Path: path}, Node: tree.Number(float64(i))})
	}
	for _, from := range []int{0, queries + 1} {
		h := newHouse(t, nil)
		h.SetIndexFrom(from)
		h.PublishRows = 1 << 20
		for i := range queries {
			l := h.listener("/l", "")
			l.read.Query = tree.Query{OrderBy: tree.ByKey, Start: tree.Bound{Set: true, Value: tree.String("a")}, Limit: 2000 + i}
			if err := l.Attach(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			l.resync()
		}
		lag, told := 0, 0
		err := h.commit(func(b *Batch) error {
			c := Change{Batch: b, Writes: writes, Merge: true}
			if err := c.Before(); err != nil {
				return err
			}
			for _, w := range writes {
				if _, err := b.Tx.Put(w.Path, w.Node); err != nil {
					return err
				}
			}
			err := c.After()
			for _, e := range b.events {
				if told++; e.event == nil {
					lag++
				}
			}
			return err
		}, false)
		if err != nil {
			t.Fatal(err)
		}
		if told != queries || lag != queries-MaxLooked/children {
			t.Errorf("with an index from %d on %d of %d listeners lag, want %d of %d", from, lag, told, queries-MaxLooked/children, queries)
		}
		if err := h.store.View(h.Check); err != nil {
			t.Error(err)
		}
	}
}

// visits returns how many groups a write visits.
func (h *house) visits(path, value string) (n int) {
	h.t.Helper()
	w := tree.ResolvedWrite{Target: tree.Target{Path: tree.MustParsePath(path)}, Node: tree.MustParseNode(value)}
	err := h.commit(func(b *Batch) error {
		c := Change{Batch: b, Writes: []tree.ResolvedWrite{w}}
		if err := c.Before(); err != nil {
			return err
		}
		if _, err := b.Tx.Put(w.Path, w.Node); err != nil {
			return err
		}
		err := c.After()
		n = len(c.views)
		return err
	}, false)
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}
