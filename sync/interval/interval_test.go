package interval

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// check verifies the order, the heap and the furthest ends of a tree, and returns its depth.
func check(t *Tree[int, int], n *Interval[int, int]) (depth int, err error) {
	if n == nil {
		return 0, nil
	}
	far := n.last
	for _, kid := range []*Interval[int, int]{n.left, n.right} {
		below, err := check(t, kid)
		if err != nil {
			return 0, err
		}
		depth = max(depth, below)
		if kid == nil {
			continue
		}
		far = max(far, kid.far.last)
		if kid.priority > n.priority || t.before(kid, n) != (kid == n.left) {
			return 0, fmt.Errorf("%d is not where it belongs below %d", kid.Value, n.Value)
		}
	}
	if n.far.last != far {
		return 0, fmt.Errorf("at %d the furthest end is %d, want %d", n.Value, n.far.last, far)
	}
	return depth + 1, nil
}

// TestModel compares a tree with a list of intervals.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := New[int, int](cmp.Compare[int])
		var all []*Interval[int, int]
		point := rapid.IntRange(0, 12)
		one := func() int { return rapid.IntRange(0, len(all)-1).Draw(t, "one") }
		for value := range rapid.IntRange(1, 60).Draw(t, "steps") {
			first, last := point.Draw(t, "first"), point.Draw(t, "last") // also with no point between
			switch op := rapid.IntRange(0, 5).Draw(t, "op"); {
			case op < 3 || len(all) == 0:
				all = append(all, tree.Add(first, last, value))
			case op < 5:
				tree.Move(all[one()], first, last)
			default:
				i := one()
				tree.Remove(all[i])
				all = slices.Delete(all, i, i+1)
			}
			if _, err := check(tree, tree.root); err != nil {
				t.Fatal(err)
			}
		}
		for p := range 13 {
			var want []int
			for _, x := range all {
				if first, last := x.Ends(); first <= p && p <= last {
					want = append(want, x.Value)
				}
			}
			if got := slices.Sorted(tree.Containing(p)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Fatalf("%d is in %v, want %v", p, got, want)
			}
		}
		if n := len(slices.Collect(tree.All())); n != len(all) || tree.Len() != n {
			t.Fatalf("the tree has %d intervals and counts %d, want %d", n, tree.Len(), len(all))
		}
	})
}

// TestStops: a walk ends when it is told to.
func TestStops(t *testing.T) {
	tree := New[int, int](cmp.Compare[int])
	for i := range 100 {
		tree.Add(i, 100, i)
	}
	for _, walk := range []func(func(int) bool){tree.All(), tree.Containing(50)} {
		n := 0
		for range walk {
			if n++; n == 10 {
				break
			}
		}
		if n != 10 {
			t.Errorf("%d values are yielded, want 10", n)
		}
	}
}

// TestDepth: in whatever order intervals come, the tree is balanced.
func TestDepth(t *testing.T) {
	const many = 1 << 14
	for name, first := range map[string]func(i int) int{
		"ascending": func(i int) int { return i }, "descending": func(i int) int { return -i }, "equal": func(int) int { return 0 },
	} {
		tree := New[int, int](cmp.Compare[int])
		for i := range many {
			tree.Add(first(i), i, i)
		}
		depth, err := check(tree, tree.root)
		if err != nil {
			t.Fatal(err)
		}
		if depth > 70 { // some 35 are expected
			t.Errorf("%s: %d intervals are %d deep", name, many, depth)
		}
	}
}

// BenchmarkContaining finds the few of many intervals that contain a point, and moves one.
func BenchmarkContaining(b *testing.B) {
	for _, many := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint("intervals=", many), func(b *testing.B) {
			tree := New[int, int](cmp.Compare[int])
			var all []*Interval[int, int]
			for i := range many {
				all = append(all, tree.Add(i*10, i*10+9, i))
			}
			b.ReportAllocs()
			for b.Loop() {
				i := rand.IntN(many)
				for range tree.Containing(i * 10) {
				}
				tree.Move(all[i], i*10, i*10+rand.IntN(10))
			}
		})
	}
}
