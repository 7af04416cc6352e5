package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// wantKeys compares what a query finds with what it finds in the same node in memory.
func wantKeys(t *testing.T, tx *Tx, p tree.Path, n tree.Node, q tree.Query) {
	t.Helper()
	var got, want []string
	found, err := tx.Query(p, q)
	for _, e := range found {
		got = append(got, e.Key)
	}
	for _, e := range q.Entries(n) {
		want = append(want, e.Key)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%.300s finds %.300q, %v, want %.300q", q.ID(), got, err, want)
	}
}

// atKey is a bound at a child without a priority.
func atKey(key string) tree.Bound { return tree.Bound{Set: true, Key: key} }

// TestQueriesByPriorityVisitTheirRange: children without a priority are found from the bound of
// the range, and none beyond its other end are visited, whether these have a priority or not.
func TestQueriesByPriorityVisitTheirRange(t *testing.T) {
	const children, first = 2000, 1000 // from first on they have a priority
	s := open(t, "")
	defer s.Close()
	var b tree.Builder
	for i := range children {
		n := tree.Number(float64(i))
		if i >= first {
			n = n.WithPriority(tree.Number(float64(i % 7)))
		}
		b.Child(fmt.Sprintf("k%04d", i), n)
	}
	list, n := tree.MustParsePath("list"), b.Node()
	put(t, s, func(tx *Tx) error { _, err := tx.Put(list, n); return err })
	beforeKeys, afterKeys := tree.Bound{Set: true, KeyRank: tree.BeforeKeys}, tree.Bound{Set: true, KeyRank: tree.AfterKeys}
	number := func(f float64, rank tree.KeyRank) tree.Bound {
		return tree.Bound{Set: true, Value: tree.Number(f), KeyRank: rank}
	}
	for name, c := range map[string]struct {
		q    tree.Query
		most int // visited
	}{
		"back from a key":                     {tree.Query{End: atKey("k0100"), Limit: 50, FromLast: true}, 51},
		"back from a key outside":             {tree.Query{End: tree.Bound{Set: true, Key: "k0100", Exclusive: true}, Limit: 50, FromLast: true}, 52},
		"back to a key":                       {tree.Query{Start: atKey("k0090"), End: atKey("k0100"), Limit: 50, FromLast: true}, 13},
		"back to a key with a priority":       {tree.Query{Start: atKey("k1900"), End: afterKeys, Limit: 50, FromLast: true}, 102},
		"up to a key":                         {tree.Query{End: atKey("k0009")}, 12},
		"between keys with a priority":        {tree.Query{Start: atKey("k1500"), End: atKey("k1509")}, 13},
		"before all":                          {tree.Query{End: beforeKeys, Limit: 50, FromLast: true}, 1},
		"before all, forwards":                {tree.Query{End: beforeKeys, Limit: 50}, 1},
		"with a priority":                     {tree.Query{Start: afterKeys, Limit: 50}, 51},
		"with a priority, back":               {tree.Query{Start: afterKeys, Limit: 50, FromLast: true}, 51},
		"with one priority":                   {tree.Query{Start: number(3, tree.BeforeKeys), End: number(3, tree.AfterKeys)}, 145},
		"the first":                           {tree.Query{Limit: 50}, 51},
		"the last":                            {tree.Query{Limit: 50, FromLast: true}, 51},
		"from a key on":                       {tree.Query{Start: atKey("k0500"), Limit: 50}, 51},
		"a key that there is not, by integer": {tree.Query{End: atKey("7"), Limit: 50, FromLast: true}, 1},
		"the empty key":                       {tree.Query{End: atKey(""), Limit: 50, FromLast: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			stats := view(t, s, func(tx *Tx) error { wantKeys(t, tx, list, n, c.q); return nil })
			if stats.Visited > c.most {
				t.Errorf("%s visits %d children, want at most %d", c.q.ID(), stats.Visited, c.most)
			}
			view(t, s, func(tx *Tx) error {
				if count, err := tx.Count(list, c.q); err != nil || count != len(c.q.Entries(n)) {
					t.Errorf("%s: Count = %d, %v", c.q.ID(), count, err)
				}
				return nil
			})
		})
	}
}

// TestIndexed: a query by priority is not called indexed where it may pass many children with one.
func TestIndexed(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	put(t, s, func(tx *Tx) error {
		for name, prioritized := range map[string]int{"none": 0, "few": fewPassed, "many": fewPassed + 1} {
			var b tree.Builder
			for i := range 300 {
				n := tree.String("some text")
				if i < prioritized {
					n = n.WithPriority(tree.Number(float64(i)))
				}
				b.Child(fmt.Sprintf("k%04d", i), n)
			}
			mustPut(t, tx, name, b.Node())
		}
		return nil
	})
	after, before := tree.Bound{Set: true, KeyRank: tree.AfterKeys}, tree.Bound{Set: true, Value: tree.Number(7)}
	view(t, s, func(tx *Tx) error {
		for path, want := range map[string]bool{"none": true, "few": true, "many": false, "many/k0000": true, "no": true} {
			for _, q := range []tree.Query{{Limit: 10}, {End: before}, {End: before, Limit: 10, FromLast: true}, {FromLast: true}} {
				if got, err := tx.Indexed(tree.MustParsePath(path), q); got != want || err != nil {
					t.Errorf("Indexed(%s, %s) = %t, %v, want %t", path, q.ID(), got, err, want)
				}
			}
			for _, q := range []tree.Query{{Limit: 10, FromLast: true}, {Start: after, Limit: 10}, {Start: before}, {OrderBy: tree.ByKey, Limit: 10}} {
				if got, err := tx.Indexed(tree.MustParsePath(path), q); !got || err != nil {
					t.Errorf("Indexed(%s, %s) = %t, %v, want true", path, q.ID(), got, err)
				}
			}
		}
		if got, err := tx.Indexed(tree.MustParsePath("none"), tree.Query{OrderBy: "a"}); got || err != nil {
			t.Errorf("an order that is not declared is called indexed: %v", err)
		}
		return nil
	})
}

// alike returns n children, whose field title and whose priority agree in as much as entries hold.
func alike(n, size int) tree.Node {
	var b tree.Builder
	for i := range n {
		text := tree.String(strings.Repeat("x", size) + fmt.Sprintf("%03d", i*37%n))
		child := tree.Empty.With(tree.MustParsePath("title"), text).With(tree.MustParsePath("n"), tree.Number(float64(i)))
		b.Child(fmt.Sprintf("k%03d", i), child.WithPriority(text))
	}
	return b.Node()
}

// TestLongStringsInOrder: ranges and limits find what they do in memory also among strings that
// entries cannot tell apart, of children and of priorities.
func TestLongStringsInOrder(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	if err := s.Declare([]Index{{"/list", "title"}}); err != nil {
		t.Fatal(err)
	}
	const children = 60
	list, n := tree.MustParsePath("list"), alike(children, 2*maxIndexed)
	put(t, s, func(tx *Tx) error { _, err := tx.Put(list, n); return err })
	build(t, s)
	bound := func(i int, exclusive bool) tree.Bound {
		text := strings.Repeat("x", 2*maxIndexed) + fmt.Sprintf("%03d", i)
		return tree.Bound{Set: true, Value: tree.String(text), KeyRank: tree.AfterKeys, Exclusive: exclusive}
	}
	view(t, s, func(tx *Tx) error {
		for _, order := range []string{"title", tree.ByPriority} {
			for _, limit := range []int{0, 1, 2, 7, children - 1, children, 2 * children} {
				for _, back := range []bool{false, true} {
					q := tree.Query{OrderBy: order, Limit: limit, FromLast: back}
					for _, q := range []tree.Query{
						q,
						{OrderBy: order, Limit: limit, FromLast: back, Start: bound(20, true)},
						{OrderBy: order, Limit: limit, FromLast: back, End: bound(20, false)},
						{OrderBy: order, Limit: limit, FromLast: back, Start: bound(20, true), End: bound(40, false)},
						{OrderBy: order, Limit: limit, FromLast: back, Start: tree.Bound{Set: true, Value: tree.String("y")}},
					} {
						wantKeys(t, tx, list, n, q)
					}
				}
			}
		}
		return nil
	})
	checked(t, s)
}

// An anyChild is a filter that each child matches.
type anyChild struct{ slow }

func (anyChild) Match(tree.Reader, tree.Path, string, int) (bool, int, error) { return true, 1, nil }

// TestAlikeStringsAreHeld: the memory for strings that entries cannot tell apart is asked for as they
// are read, once, and only for those that a limit leaves.
func TestAlikeStringsAreHeld(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	if err := s.Declare([]Index{{"/list", "title"}}); err != nil {
		t.Fatal(err)
	}
	const children, size = 100, 50_000
	list := tree.MustParsePath("list")
	put(t, s, func(tx *Tx) error { _, err := tx.Put(list, alike(children, size)); return err })
	build(t, s)
	full := errors.New("full")
	for name, c := range map[string]struct {
		q           tree.Query
		least, most int64 // held
	}{
		"all":           {tree.Query{OrderBy: "title"}, children * size * 7 / 10, children * size * 11 / 10},
		"one":           {tree.Query{OrderBy: "title", Limit: 1}, 0, 0},
		"last":          {tree.Query{OrderBy: "title", Limit: 3, FromLast: true}, 0, 0},
		"half":          {tree.Query{OrderBy: "title", Limit: children / 2}, children * size * 7 / 10, children * size * 11 / 10},
		"one of a kind": {tree.Query{OrderBy: "title", Limit: 1, Filter: anyChild{}}, children * size * 7 / 10, children * size * 11 / 10},
	} {
		held := int64(0)
		view(t, s, func(tx *Tx) error {
			tx.Hold = func(total int64) error { held = max(held, total); return nil }
			found, err := tx.Query(list, c.q)
			if c.q.Limit > 0 && len(found) != c.q.Limit || c.q.Limit == 0 && len(found) != children {
				t.Errorf("%s: %d children", name, len(found))
			}
			return err
		})
		if held < c.least || held > c.most {
			t.Errorf("%s: %d bytes are held, want %d to %d", name, held, c.least, c.most)
		}
		if c.least == 0 {
			continue
		}
		view(t, s, func(tx *Tx) error {
			tx.Hold = func(total int64) error {
				if total > c.least/2 {
					return full
				}
				return nil
			}
			if _, err := tx.Query(list, c.q); !errors.Is(err, full) {
				t.Errorf("%s, without the memory: %v, want %v", name, err, full)
			}
			return nil
		})
	}
}
