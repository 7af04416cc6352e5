package rules

import (
	"fmt"
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

// written returns a tree with writes made in it: values, then removals, then
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
func TestNewTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, writes := drawTree(t), drawWrites(t)
		after := writtenTo(before, writes)
		var old oldTree
		var tr newTree
		old.reset(stored{before}, new(budget))
		tr.reset(&old, writes)
		for range 8 {
			p := drawPath(t)
			if rapid.IntRange(0, 9).Draw(t, "root") == 0 {
				p = tree.Root
			}
			want := after.Get(p)
			state := fmt.Sprintf("%s\nbefore %s\nwrites %v\nafter %s", p, before.JSON(), writes, after.JSON())
			if got := tr.exists(p); got == want.IsEmpty() {
				t.Fatalf("exists = %t at %s", got, state)
			}
			if got := tr.value(p); got != valueOf(want) {
				t.Fatalf("value = %v at %s", got, state)
			}
			if got := tr.priority(p); got != valueOf(want.Priority()) {
				t.Fatalf("priority = %v at %s", got, state)
			}
			keys := slices.Sorted(tr.keys(p))
			for key := range want.Children() {
				if _, ok := slices.BinarySearch(keys, key); !ok {
					t.Fatalf("keys = %q at %s", keys, state)
				}
			}
			if len(slices.Compact(keys)) != len(slices.Collect(tr.keys(p))) {
				t.Fatalf("keys = %q twice at %s", keys, state)
			}
		}
	})
}
