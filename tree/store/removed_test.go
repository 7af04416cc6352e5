package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// removing returns a store with a log that holds n objects, and their paths.
func removing(t *testing.T, n int) (*Store, []tree.Path) {
	s := openLogged(t, t.TempDir(), "a.db", 64<<20)
	put(t, s, func(tx *Tx) error { _, err := tx.Put(tree.MustParsePath("list"), wideNode(n, 200)); return err })
	var paths []tree.Path
	for i := range n {
		paths = append(paths, tree.MustParsePath(fmt.Sprintf("list/k%07d", i)))
	}
	return s, paths
}

// TestRemovalsDoNotPassEachOther: to remove a child costs the same however many were removed
// before it, in one write or in many, from either end.
func TestRemovalsDoNotPassEachOther(t *testing.T) {
	const n = 1000
	for name, order := range map[string]func([]tree.Path){"ascending": func([]tree.Path) {}, "descending": slices.Reverse[[]tree.Path]} {
		for _, batch := range []int{n, 10} {
			t.Run(fmt.Sprint(name, "/", batch), func(t *testing.T) {
				s, paths := removing(t, n)
				order(paths)
				for some := range slices.Chunk(paths, batch) {
					stats := put(t, s, func(tx *Tx) error {
						for _, p := range some {
							if _, err := tx.Put(p, tree.Empty); err != nil {
								return err
							}
						}
						return nil
					})
					if last := some[len(some)-1] == paths[n-1]; !last && stats.Read > 8*batch || stats.Read > 8*batch+2*n {
						t.Fatalf("%d removals: %d entries read", batch, stats.Read)
					}
				}
				check(t, s)
			})
		}
	}
}

// TestRemovedEntriesCount: a read that passes entries which were removed, but are still in the
// file, is not a brief one, and can be interrupted.
func TestRemovedEntriesCount(t *testing.T) {
	const n = 2000
	s, paths := removing(t, n)
	put(t, s, func(tx *Tx) error {
		for _, p := range paths[:n-1] {
			if _, err := tx.Put(p, tree.Empty); err != nil {
				return err
			}
		}
		return nil
	})
	stop := errors.New("stop")
	for name, c := range map[string]struct {
		bound func(*Tx)
		want  error
	}{
		"brief":       {func(tx *Tx) { tx.Brief(true) }, ErrLong},
		"interrupted": {func(tx *Tx) { tx.Interrupt = func() error { return stop } }, stop},
		"free":        {func(*Tx) {}, nil},
	} {
		err := s.View(func(tx *Tx) error {
			c.bound(tx)
			_, err := tx.Query(tree.MustParsePath("list"), tree.Query{OrderBy: tree.ByKey, Limit: 1})
			return err
		})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
