package outbox

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLentArrays: queues that are lent arrays in turn have what was put into them, and an array
// that is given back has nothing left.
func TestLentArrays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const queues = 3
		var q [queues]itemQueue
		var want [queues][]int32
		next := int32(1)
		one := func(t *rapid.T) int { return rapid.IntRange(0, queues-1).Draw(t, "queue") }
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				i := one(t)
				for range rapid.SampledFrom([]int{1, 3, 20, 100}).Draw(t, "items") {
					q[i].Push(item{size: next, message: []byte("x")})
					want[i] = append(want[i], next)
					next++
				}
			},
			"pop": func(t *rapid.T) {
				i := one(t)
				for range min(len(want[i]), rapid.SampledFrom([]int{1, 2, 15, 200}).Draw(t, "items")) {
					if got := q[i].Pop().size; got != want[i][0] {
						t.Fatalf("popped %d, want %d", got, want[i][0])
					}
					want[i] = want[i][1:]
				}
			},
			"back": func(t *rapid.T) {
				i := one(t)
				q[i].PushFront(item{size: next})
				want[i] = slices.Insert(want[i], 0, next)
				next++
			},
			"keep": func(t *rapid.T) {
				i, divisor := one(t), rapid.Int32Range(1, 3).Draw(t, "divisor")
				q[i].Keep(func(it *item) bool { return divisor < 3 && it.size%divisor == 0 })
				want[i] = slices.DeleteFunc(want[i], func(n int32) bool { return divisor == 3 || n%divisor != 0 })
			},
			"": func(t *rapid.T) {
				for i := range q {
					if q[i].Len() != len(want[i]) || len(want[i]) > 0 && q[i].Front().size != want[i][0] {
						t.Fatalf("queue %d has %d items, want %d", i, q[i].Len(), len(want[i]))
					}
				}
				for i := range itemArrays {
					a := itemArrays[i].get()
					if slices.ContainsFunc(a.items, func(it item) bool { return it.message != nil || it.size != 0 }) {
						t.Fatalf("an array of %d is not clear", len(a.items))
					}
					a.giveBack()
				}
			},
		})
	})
}
