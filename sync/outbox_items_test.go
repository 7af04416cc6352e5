package sync

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestItems compares the queue with a plain slice.
func TestItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q items
		var want []int
		next := 1
		t.Repeat(map[string]func(*rapid.T){
			"push": func(*rapid.T) {
				q.push(item{size: next})
				want = append(want, next)
				next++
			},
			"pop": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("nothing is there")
				}
				front := *q.front()
				if got := q.pop().size; got != want[0] || front.size != got {
					t.Fatalf("popped %d with %d in front, want %d", got, front.size, want[0])
				}
				want = want[1:]
			},
			"unpop": func(*rapid.T) {
				q.unpop(item{size: next})
				want = slices.Insert(want, 0, next)
				next++
			},
			"keep": func(t *rapid.T) {
				divisor := rapid.IntRange(1, 3).Draw(t, "divisor")
				q.keep(func(it *item) bool { return it.size%divisor == 0 })
				want = slices.DeleteFunc(want, func(n int) bool { return n%divisor != 0 })
			},
			"": func(t *rapid.T) {
				var got []int
				for _, it := range q.all[q.head:] {
					got = append(got, it.size)
				}
				if !slices.Equal(got, want) || q.len() != len(want) {
					t.Fatalf("holds %v, length %d; want %v", got, q.len(), want)
				}
			},
		})
	})
}

// TestItemsMemory: an array grows with what waits, not with what has passed
// through, and a large one is let go of.
func TestItemsMemory(t *testing.T) {
	var q items
	for range 100 {
		q.push(item{})
	}
	for range 100_000 {
		q.push(item{})
		q.pop()
	}
	if got := cap(q.all); got > 400 {
		t.Errorf("100 items are in an array of %d", got)
	}
	for q.len() > 0 {
		q.pop()
	}
	if got := cap(q.all); got > keptItems {
		t.Errorf("an empty queue keeps an array of %d", got)
	}
	for range 2 {
		q.push(item{})
	}
	kept := &q.all[:1][0]
	q.pop()
	q.pop()
	q.push(item{})
	if &q.all[0] != kept {
		t.Error("a small array was not used again")
	}
}
