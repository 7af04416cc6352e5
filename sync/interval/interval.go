// Package interval finds, among many intervals, those that contain a point.
package interval

import (
	"cmp"
	"iter"
	"math/rand/v2"
)

// A Tree keeps intervals of points, each with a value. It takes logarithmic time to add, move
// and remove one, and to find the first that contains a point.
//
// It is a treap: a binary search tree by the first point, and a heap by random priorities,
// which keep it balanced. Each node knows the interval below it that reaches furthest.
type Tree[P, V any] struct {
	compare func(a, b P) int
	root    *Interval[P, V]
	serial  uint64 // of the interval that was added last
	size    int
}

// An Interval is the points between two others, and these. It has none if they are not in
// order.
type Interval[P, V any] struct {
	Value       V
	first, last P

	serial      uint64 // tells those apart that begin with the same point
	priority    uint64
	left, right *Interval[P, V]
	far         *Interval[P, V] // has the greatest last point, of this and those below
}

// New returns an empty tree of points that compare orders.
func New[P, V any](compare func(a, b P) int) *Tree[P, V] {
	return &Tree[P, V]{compare: compare}
}

// Len returns the number of intervals.
func (t *Tree[P, V]) Len() int { return t.size }

// Add adds an interval.
func (t *Tree[P, V]) Add(first, last P, value V) *Interval[P, V] {
	t.serial++
	t.size++
	x := &Interval[P, V]{Value: value, first: first, last: last, serial: t.serial, priority: rand.Uint64()}
	t.root = t.insert(t.root, x)
	return x
}

// Remove takes an interval out of the tree, which it is in.
func (t *Tree[P, V]) Remove(x *Interval[P, V]) {
	t.size--
	t.take(x)
}

func (t *Tree[P, V]) take(x *Interval[P, V]) {
	t.root = t.remove(t.root, x)
	x.left, x.right, x.far = nil, nil, nil
}

// Move changes the ends of an interval of the tree.
func (t *Tree[P, V]) Move(x *Interval[P, V], first, last P) {
	if t.compare(x.first, first) == 0 && t.compare(x.last, last) == 0 {
		return
	}
	t.take(x)
	x.first, x.last = first, last
	t.root = t.insert(t.root, x)
}

// Ends returns the ends of an interval.
func (x *Interval[P, V]) Ends() (first, last P) { return x.first, x.last }

// Containing yields the values of the intervals that contain a point. The tree must not
// change meanwhile.
func (t *Tree[P, V]) Containing(p P) iter.Seq[V] {
	return func(yield func(V) bool) { t.containing(t.root, p, yield) }
}

func (t *Tree[P, V]) containing(n *Interval[P, V], p P, yield func(V) bool) bool {
	if n == nil || t.compare(n.far.last, p) < 0 {
		return true
	}
	if !t.containing(n.left, p, yield) {
		return false
	}
	if t.compare(n.first, p) > 0 {
		return true
	}
	if t.compare(n.last, p) >= 0 && !yield(n.Value) {
		return false
	}
	return t.containing(n.right, p, yield)
}

// All yields all values, by the first points of their intervals.
func (t *Tree[P, V]) All() iter.Seq[V] {
	return func(yield func(V) bool) { t.root.each(yield) }
}

func (x *Interval[P, V]) each(yield func(V) bool) bool {
	return x == nil || x.left.each(yield) && yield(x.Value) && x.right.each(yield)
}

// before reports whether an interval is to the left of another one.
func (t *Tree[P, V]) before(a, b *Interval[P, V]) bool {
	return cmp.Or(t.compare(a.first, b.first), cmp.Compare(a.serial, b.serial)) < 0
}

// reach finds out which interval reaches furthest, from n and what is right below it.
func (t *Tree[P, V]) reach(n *Interval[P, V]) *Interval[P, V] {
	n.far = n
	for _, kid := range []*Interval[P, V]{n.left, n.right} {
		if kid != nil && t.compare(kid.far.last, n.far.last) > 0 {
			n.far = kid.far
		}
	}
	return n
}

func (t *Tree[P, V]) insert(n, x *Interval[P, V]) *Interval[P, V] {
	switch {
	case n == nil:
		return t.reach(x)
	case x.priority > n.priority:
		x.left, x.right = t.split(n, x)
		return t.reach(x)
	case t.before(x, n):
		n.left = t.insert(n.left, x)
	default:
		n.right = t.insert(n.right, x)
	}
	return t.reach(n)
}

// split parts what is at and below n into what is to the left of x and to the right of it.
func (t *Tree[P, V]) split(n, x *Interval[P, V]) (left, right *Interval[P, V]) {
	switch {
	case n == nil:
		return nil, nil
	case t.before(n, x):
		n.right, right = t.split(n.right, x)
		return t.reach(n), right
	}
	left, n.left = t.split(n.left, x)
	return left, t.reach(n)
}

func (t *Tree[P, V]) remove(n, x *Interval[P, V]) *Interval[P, V] {
	switch {
	case n == x:
		return t.merge(n.left, n.right)
	case t.before(x, n):
		n.left = t.remove(n.left, x)
	default:
		n.right = t.remove(n.right, x)
	}
	return t.reach(n)
}

// merge joins two trees; all of the first is to the left of the second.
func (t *Tree[P, V]) merge(left, right *Interval[P, V]) *Interval[P, V] {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case left.priority > right.priority:
		left.right = t.merge(left.right, right)
		return t.reach(left)
	}
	right.left = t.merge(left, right.left)
	return t.reach(right)
}
