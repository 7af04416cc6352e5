package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// TestShallowAllocations: a listing is a few pieces of memory, however many keys
// it has.
func TestShallowAllocations(t *testing.T) {
	const children = 5000
	s := open(t, t.TempDir()+"/db")
	defer s.Close()
	put(t, s, func(tx *Tx) error { _, err := tx.Put(tree.Root, wideNode(children, 50)); return err })
	tx, err := s.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	allocs := testing.AllocsPerRun(5, func() {
		if l, err := tx.Shallow(tree.Root, "", 0); err != nil || l.Keys.Len() != children {
			t.Errorf("%d keys, %v", l.Keys.Len(), err)
		}
	})
	if allocs > 80 {
		t.Errorf("a listing of %d keys takes %v allocations", children, allocs)
	}
}

// TestShallowKeys: the keys of a listing are those of the node, of any form, in
// containers and in packed rows.
func TestShallowKeys(t *testing.T) {
	keys := []string{"-2147483648", "-7", "-007", "-0", "0", "00", "7", "07", "2147483647", "!", "k", "é", "😀", "\uffee"}
	slices.SortFunc(keys, tree.CompareKeys)
	for _, pad := range []int{1, PackLimit} {
		var b tree.Builder
		for _, key := range keys {
			b.Child(key, tree.String(strings.Repeat("x", pad)))
		}
		s := open(t, "")
		put(t, s, func(tx *Tx) error { _, err := tx.Put(tree.Root, b.Node()); return err })
		view(t, s, func(tx *Tx) error {
			for i := range keys {
				l, err := tx.Shallow(tree.Root, keys[i], 3)
				want := keys[i+1 : min(i+4, len(keys))]
				if got := slices.Collect(l.Keys.All()); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("three keys behind %q are %q, %v, want %q", keys[i], got, err, want)
				}
			}
			l, err := tx.Shallow(tree.Root, "", 0)
			if got := slices.Collect(l.Keys.All()); err != nil || !slices.Equal(got, keys) || l.Keys.Size() != len(strings.Join(keys, "")) {
				t.Errorf("all keys are %q, %v, %d bytes", got, err, l.Keys.Size())
			}
			return nil
		})
		s.Close()
	}
}
