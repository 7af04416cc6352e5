package store

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

// A naiveOrder sorts children in memory, by nothing that queries use but the comparison of two
// values and of two keys.
type naiveOrder map[string][]tree.Node // values by key

func newNaiveOrder(children map[string]tree.Node, paths []string) naiveOrder {
	o := make(naiveOrder)
	for key, n := range children {
		for _, path := range paths {
			o[key] = append(o[key], n.Get(tree.MustParsePath(path)).Value())
		}
	}
	return o
}

// compare compares a child with a bound that has n values.
func (o naiveOrder) compare(key string, values []tree.Node, b tree.Bound) int {
	for i, v := range values {
		if c := tree.CompareValues(o[key][i], v); c != 0 {
			return c
		}
	}
	return cmp.Or(-int(b.KeyRank), tree.CompareKeys(key, b.Key))
}

func (o naiveOrder) keys(q tree.Query, start, end []tree.Node) []string {
	var keys []string
	for key := range o {
		if c := o.compare(key, start, q.Start); q.Start.Set && (c < 0 || c == 0 && q.Start.Exclusive) {
			continue
		}
		if c := o.compare(key, end, q.End); q.End.Set && (c > 0 || c == 0 && q.End.Exclusive) {
			continue
		}
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		for i, v := range o[a] {
			if c := tree.CompareValues(v, o[b][i]); c != 0 {
				return c
			}
		}
		return tree.CompareKeys(a, b)
	})
	switch {
	case q.Limit == 0 || len(keys) <= q.Limit:
		return keys
	case q.FromLast:
		return keys[len(keys)-q.Limit:]
	}
	return keys[:q.Limit]
}

// orderedLeaf returns a value of few, so that many children have the same, and sometimes one
// that an entry of an index has only the beginning of.
func orderedLeaf(rnd *rand.Rand) tree.Node {
	switch rnd.IntN(12) {
	case 0:
		return tree.Empty
	case 1:
		return tree.Bool(rnd.IntN(2) == 0)
	case 2:
		return tree.String("s\x00" + strings.Repeat("\x00", rnd.IntN(2)))
	case 3:
		return tree.String(strings.Repeat("x", maxIndexed-1+rnd.IntN(3)) + strings.Repeat("y", rnd.IntN(2)))
	case 4:
		return tree.MustParseNode(wideNumbers[rnd.IntN(len(wideNumbers))])
	case 5, 6:
		return tree.String(string(rune('a' + rnd.IntN(3))))
	}
	return tree.Number(float64(rnd.IntN(5) - 2))
}

// TestListOrders asks random queries by several child paths of a store with an index, of one
// without, and of a list that is sorted in memory.
func TestListOrders(t *testing.T) {
	tier.Unraced(t)
	asked := tier.Pick(600, 1_200, 100_000)
	rnd := rand.New(rand.NewPCG(18, 35))
	orders := [][]string{{"o", "t"}, {"t", "o", "d/x"}, {"d/x", "t"}, {"o", "t", "d/x", "d/y"}}
	const children = 150
	all := make(map[string]tree.Node, children)
	list := tree.Empty
	for i := range children {
		n := tree.Number(1)
		if i%17 != 0 {
			n = tree.Empty.With(tree.MustParsePath("pad"), tree.String(strings.Repeat("p", i%2*100)))
			for _, path := range []string{"o", "t", "d/x", "d/y"} {
				n = n.With(tree.MustParsePath(path), orderedLeaf(rnd))
			}
			if i%13 == 0 {
				n = n.With(tree.MustParsePath("t"), tree.MustParseNode(fmt.Sprintf(`{"n":%d}`, i)))
			}
			if i%11 == 0 { // rows of its own
				n = n.With(tree.MustParsePath("wide"), tree.String(strings.Repeat("w", PackLimit+i)))
			}
		}
		key := fmt.Sprint("k", i)
		all[key], list = n, list.With(tree.Root.Child(key), n)
	}
	at := tree.MustParsePath("list")
	indexed, plain := open(t, ""), open(t, "")
	defer indexed.Close()
	defer plain.Close()
	var indexes []Index
	var naive []naiveOrder
	for _, paths := range orders {
		order, err := tree.ListOrder(paths)
		if err != nil {
			t.Fatal(err)
		}
		indexes = append(indexes, Index{"/list", order})
		naive = append(naive, newNaiveOrder(all, paths))
	}
	for i, s := range []*Store{indexed, plain} {
		put(t, s, func(tx *Tx) error { _, err := tx.Put(at, list); return err })
		if i == 0 {
			if err := s.Declare(indexes[:2]); err != nil {
				t.Fatal(err)
			}
			if more, err := s.Build(1_000); err != nil || !more {
				t.Fatal(more, err)
			}
			if more, err := s.Build(1_000); err != nil || more {
				t.Fatal(more, err)
			}
		}
	}
	if err := indexed.Declare(indexes); err != nil { // the rest is maintained by writes alone
		t.Fatal(err)
	}
	put(t, indexed, func(tx *Tx) error { _, err := tx.Put(at, tree.Empty); return err })
	for more, err := true, error(nil); more; {
		if more, err = indexed.Build(1_000); err != nil {
			t.Fatal(err)
		}
	}
	for key, n := range all { // one by one, in any order
		put(t, indexed, func(tx *Tx) error { _, err := tx.Put(at.Child(key), n); return err })
	}

	withIndex, err := indexed.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer withIndex.Rollback()
	without, err := plain.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer without.Rollback()
	for range asked {
		i := rnd.IntN(len(orders))
		q := tree.Query{OrderBy: indexes[i].Order}
		var start, end []tree.Node
		q.Start, start = orderedBound(rnd, q, tree.BeforeKeys)
		q.End, end = orderedBound(rnd, q, tree.AfterKeys)
		if rnd.IntN(4) == 0 { // equalTo
			q.End, end = tree.Bound{Set: q.Start.Set, Value: q.Start.Value, KeyRank: tree.AfterKeys}, start
			q.Start.KeyRank, q.Start.Key, q.Start.Exclusive = tree.BeforeKeys, "", false
		}
		if rnd.IntN(2) == 0 {
			q.Limit, q.FromLast = 1+rnd.IntN(10), rnd.IntN(2) == 0
		}
		want := naive[i].keys(q, start, end)
		for plan, tx := range map[Plan]*Tx{PlanIndex: withIndex, PlanScan: without} {
			found, err := tx.Query(at, q)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range found {
				got = append(got, e.Key)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s by %s: got %s, want %s", q.ID(), plan, got, want)
			}
			if rnd.IntN(100) > 0 {
				continue
			}
			n, c, err := tx.Explain(at, q, 0)
			if err != nil || !q.IsAll() && c.Plan != plan || n != q.Apply(list) {
				t.Fatalf("%s is answered by %s, %v, with %.200s", q.ID(), c.Plan, err, n.JSON())
			}
			if count, err := tx.Count(at, q); err != nil || count != len(want) {
				t.Fatalf("%s: Count = %d, %v, want %d", q.ID(), count, err, len(want))
			}
		}
	}
	wantClean(t, indexed)
}

func orderedBound(rnd *rand.Rand, q tree.Query, rank tree.KeyRank) (b tree.Bound, values []tree.Node) {
	if rnd.IntN(3) == 0 {
		return b, nil
	}
	most := 0
	for range tree.OrderPaths(q.OrderBy) {
		most++
	}
	for range 1 + rnd.IntN(most) {
		values = append(values, orderedLeaf(rnd))
	}
	v, err := q.ListBound(values)
	if err != nil {
		panic(err)
	}
	b = tree.Bound{Set: true, Value: v, KeyRank: rank}
	switch rnd.IntN(4) {
	case 0: // startAfter, endBefore
		b.KeyRank, b.Exclusive = -rank, true
	case 1:
		if len(values) == most {
			b.KeyRank, b.Key, b.Exclusive = tree.AtKey, fmt.Sprint("k", rnd.IntN(150)), rnd.IntN(2) == 0
		}
	}
	return b, values
}

// TestBuildGoesOn: a build goes on where it stopped, after a restart too.
func TestBuildGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	s := open(t, file)
	list := tree.Empty
	const children, turn = 300, 20
	for i := range children {
		list = list.With(tree.Root.Child(fmt.Sprint("k", i)), tree.MustParseNode(fmt.Sprintf(`{"a":%d,"b":"%050d"}`, i%7, i)))
	}
	at := tree.MustParsePath("list")
	put(t, s, func(tx *Tx) error { _, err := tx.Put(at, list); return err })
	if err := s.Declare([]Index{{"/list", `["a","b"]`}, {"/list", "b"}}); err != nil {
		t.Fatal(err)
	}
	for turns, more := 1, true; more; turns++ {
		var err error
		if more, err = s.Build(turn); err != nil {
			t.Fatal(err)
		}
		if turns > 2*(children/(turn-1)+2) {
			t.Fatal("the build begins again after each restart")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, file)
	}
	defer s.Close()
	view(t, s, func(tx *Tx) error {
		for id := range uint32(3) {
			if p, err := tx.Indexes().builtTo(id); err != nil || !p.IsRoot() {
				t.Errorf("the build of index %d is at %s, %v", id, p, err)
			}
		}
		return nil
	})
	wantClean(t, s)
}
