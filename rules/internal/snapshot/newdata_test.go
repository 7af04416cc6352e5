package snapshot

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dogwooddb/dogwood/tree"
)

var drawKey = rapid.SampledFrom([]string{"a", "b", "c", "a b", "a0", "10", "é"})

// drawPath draws a path of at least one key.
func drawPath(t *rapid.T) tree.Path {
	p := tree.Root
	for range rapid.IntRange(1, 3).Draw(t, "depth") {
		p = p.Child(drawKey.Draw(t, "key"))
	}
	return p
}

var drawLeaf = rapid.SampledFrom([]tree.Node{
	tree.Bool(true), tree.Number(1), tree.Number(-2.5), tree.String(""), tree.String("text"),
	tree.String("long " + strings.Repeat("x", indexedFrom)),
})

// drawNode draws a node that is often an object.
func drawNode(t *rapid.T) tree.Node {
	n := tree.Empty
	for range rapid.IntRange(0, 6).Draw(t, "leaves") {
		n = n.With(drawPath(t), drawLeaf.Draw(t, "leaf"))
	}
	if n.IsEmpty() && rapid.Bool().Draw(t, "leaf") {
		n = drawLeaf.Draw(t, "leaf")
	}
	if rapid.IntRange(0, 3).Draw(t, "priority") == 0 {
		n = n.WithPriority(tree.Number(float64(rapid.IntRange(1, 3).Draw(t, "priority"))))
	}
	return n
}

// drawTree draws a tree with priorities at any depth.
func drawTree(t *rapid.T) tree.Node {
	n := drawNode(t)
	for range rapid.IntRange(0, 2).Draw(t, "inner") {
		n = n.With(drawPath(t), drawNode(t))
	}
	return n
}

// drawWrites draws writes at disjoint targets.
func drawWrites(t *rapid.T) []tree.ResolvedWrite {
	var u tree.Update
	var list []tree.ResolvedWrite
	for range rapid.IntRange(1, 5).Draw(t, "writes") {
		target := tree.Target{Path: drawPath(t), Priority: rapid.IntRange(0, 4).Draw(t, "kind") == 0}
		if rapid.IntRange(0, 9).Draw(t, "root") == 0 {
			target.Path = tree.Root
		}
		if more := append(slices.Clip(u), tree.Write{Target: target}); more.Check() == nil {
			u = more
			w := tree.ResolvedWrite{Target: target}
			switch {
			case target.Priority:
				w.Node = tree.Number(float64(rapid.IntRange(4, 6).Draw(t, "priority")))
			case rapid.Bool().Draw(t, "set"):
				w.Node = drawNode(t)
			}
			list = append(list, w)
		}
	}
	return list
}

// A stored tree is a tree.Reader of a node.
type stored struct{ tree.Node }

func (s stored) Get(p tree.Path) (tree.Node, error)      { return s.Node.Get(p), nil }
func (s stored) Has(p tree.Path) (bool, error)           { return !s.Node.Get(p).IsEmpty(), nil }
func (s stored) Priority(p tree.Path) (tree.Node, error) { return s.Node.Get(p).Priority(), nil }

// Peek returns a leaf, or reports an object.
func (s stored) Peek(p tree.Path) (tree.Node, bool, error) {
	n := s.Node.Get(p)
	if n.IsObject() {
		return tree.Empty, true, nil
	}
	return n, false, nil
}

// Keys yields the keys of the children.
func (s stored) Keys(p tree.Path) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for key := range s.Node.Get(p).Children() {
			if !yield(key, nil) {
				return
			}
		}
	}
}

// writtenTo returns a tree with writes made in it: values, then removals, then
// priorities.
func writtenTo(n tree.Node, writes []tree.ResolvedWrite) tree.Node {
	rank := func(w tree.ResolvedWrite) int {
		switch {
		case w.Priority:
			return 2
		case w.Node.IsEmpty():
			return 1
		}
		return 0
	}
	for r := range 3 {
		for _, w := range writes {
			if rank(w) == r {
				n = n.WithTarget(w.Target, w.Node)
			}
		}
	}
	return n
}

// The tree after an operation is the one that making its writes gives.
func TestNewData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, writes := drawTree(t), drawWrites(t)
		after := writtenTo(before, writes)
		var old Data
		var tr NewData
		old.reset(stored{before}, new(Budget))
		tr.reset(&old, writes)
		for range 8 {
			p := drawPath(t)
			if rapid.IntRange(0, 9).Draw(t, "root") == 0 {
				p = tree.Root
			}
			want := after.Get(p)
			state := fmt.Sprintf("%s\nbefore %s\nwrites %v\nafter %s", p, before.JSON(), writes, after.JSON())
			if got := tr.Exists(p); got == want.IsEmpty() {
				t.Fatalf("exists = %t at %s", got, state)
			}
			if got := tr.Value(p); got != ValueOf(want) {
				t.Fatalf("value = %v at %s", got, state)
			}
			if got := tr.Priority(p); got != ValueOf(want.Priority()) {
				t.Fatalf("priority = %v at %s", got, state)
			}
			if got := tr.NumChildren(p); got != want.NumChildren() {
				t.Fatalf("%d children at %s", got, state)
			}
			keys := slices.Sorted(tr.Keys(p))
			for key := range want.Children() {
				if _, ok := slices.BinarySearch(keys, key); !ok {
					t.Fatalf("keys = %q at %s", keys, state)
				}
			}
			if len(slices.Compact(keys)) != len(slices.Collect(tr.Keys(p))) {
				t.Fatalf("keys = %q twice at %s", keys, state)
			}
		}
	})
}
