package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// siblingValue is a value of one of the kinds that rows have: packed, a container, a long string, and a
// long priority, which is left out of rows on the way.
func siblingValue(rnd *rand.Rand) tree.Node {
	n := tree.FromCanonical(fmt.Sprintf(`{"n":%d}`, rnd.IntN(50)))
	switch rnd.IntN(8) {
	case 0:
		n = wideNode(20, 200)
	case 1:
		n = tree.String(strings.Repeat("long ", 1000))
	case 2:
		n = wideNode(20, 200).WithPriority(tree.String(strings.Repeat("p", 2*longPriority)))
	}
	if rnd.IntN(4) == 0 {
		n = n.WithPriority(tree.Number(float64(rnd.IntN(9))))
	}
	return n
}

func siblingKey(rnd *rand.Rand, n int) string {
	if k := rnd.IntN(n); k%3 > 0 {
		return fmt.Sprint("k", k)
	} else {
		return fmt.Sprint(k)
	}
}

// TestSiblings: an update of many children of one node does what its writes do one after the other.
func TestSiblings(t *testing.T) {
	list := tree.MustParsePath("rows/list")
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 8))
		n := 1 + rnd.IntN(3*siblingsAtOnce)
		together, alone := openLogged(t, t.TempDir(), "a.db", 64<<10), openLogged(t, t.TempDir(), "a.db", 64<<10)
		both := func(f func(s *Store, tx *Tx) error) {
			t.Helper()
			for _, s := range []*Store{together, alone} {
				put(t, s, func(tx *Tx) error { return f(s, tx) })
			}
		}
		for _, s := range []*Store{together, alone} {
			if err := s.Declare([]Index{{"/rows/list", "n"}, {"/rows", "k1/n"}}); err != nil {
				t.Fatal(err)
			}
		}
		for round := range 12 {
			if round%4 == 0 {
				both(func(_ *Store, tx *Tx) error {
					_, err := tx.Put(list, wideNode(1+n/2, 50).WithPriority(tree.Number(3)))
					return err
				})
			}
			writes := siblingWrites(rnd, list, n, together, round)
			both(func(s *Store, tx *Tx) error {
				if s == together {
					_, err := tx.PutAll(writes)
					return err
				}
				for _, w := range writes {
					if _, err := tx.Put(w.Path, w.Node); err != nil {
						return err
					}
				}
				return nil
			})
			check(t, together)
			if got, want := orders(t, together), orders(t, alone); got != want {
				t.Fatalf("seed %d, round %d, %d writes: %d bytes, want %d", seed, round, len(writes), len(got), len(want))
			}
		}
	}
}

// siblingWrites returns writes of children of list: values, removals, or removals of all that there are.
func siblingWrites(rnd *rand.Rand, list tree.Path, n int, s *Store, round int) (writes []tree.ResolvedWrite) {
	paths := make(map[tree.Path]bool)
	for range rnd.IntN(2 * n) {
		paths[list.Child(siblingKey(rnd, n))] = true
	}
	if all := round%4 == 3; all {
		clear(paths)
		for key := range mustGet(s, list).Children() {
			paths[list.Child(key)] = true
		}
	}
	values := rnd.IntN(3)
	for p := range paths {
		w := tree.ResolvedWrite{Target: tree.Target{Path: p}}
		if values == 2 && round%4 < 3 || values == 1 && round%4 < 3 && rnd.IntN(2) == 0 {
			w.Node = siblingValue(rnd)
		}
		writes = append(writes, w)
	}
	slices.SortFunc(writes, func(a, b tree.ResolvedWrite) int { return tree.ComparePaths(a.Path, b.Path) })
	return writes
}

func mustGet(s *Store, p tree.Path) (n tree.Node) {
	if err := s.View(func(tx *Tx) (err error) { n, err = tx.Get(p); return err }); err != nil {
		panic(err)
	}
	return n
}

func orders(t *testing.T, s *Store) string {
	t.Helper()
	var b strings.Builder
	err := s.View(func(tx *Tx) error {
		for _, q := range []tree.Query{{OrderBy: tree.ByKey}, {OrderBy: tree.ByPriority}, {OrderBy: "n"}} {
			entries, err := tx.Query(tree.MustParsePath("rows/list"), q)
			if err != nil {
				return err
			}
			for _, e := range entries {
				b.WriteString(e.Key + " ")
			}
		}
		n, err := tx.Get(tree.Root)
		b.WriteString(n.Text())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
