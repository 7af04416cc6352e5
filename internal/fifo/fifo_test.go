package fifo

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"unsafe"

	"pgregory.net/rapid"
)

// kept is the size of the array that an empty queue keeps here.
const kept = 4

// TestQueue compares the queue with a plain slice.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[int]
		var want []int
		next := 1
		t.Repeat(map[string]func(*rapid.T){
			"push": func(*rapid.T) {
				q.Push(next)
				want = append(want, next)
				next++
			},
			"pop": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("nothing is there")
				}
				front := *q.Front()
				if got := q.Pop(kept); got != want[0] || front != got {
					t.Fatalf("popped %d with %d in front, want %d", got, front, want[0])
				}
				want = want[1:]
			},
			"unpop": func(*rapid.T) {
				q.PushFront(next)
				want = slices.Insert(want, 0, next)
				next++
			},
			"full": func(*rapid.T) {
				array := unsafe.SliceData(q.all)
				full := q.Full()
				q.Push(next)
				want = append(want, next)
				next++
				if moved := unsafe.SliceData(q.all) != array; moved != full {
					t.Fatalf("full %v, and the array is another one: %v", full, moved)
				}
			},
			"move": func(t *rapid.T) {
				old := q.Move(make([]int, len(want)+rapid.IntRange(0, 3).Draw(t, "room")))
				if left := slices.Compact(old[:cap(old)]); len(left) > 1 || len(left) == 1 && left[0] != 0 {
					t.Fatalf("the array that was left has %v", left)
				}
			},
			"keep": func(t *rapid.T) {
				divisor := rapid.IntRange(1, 3).Draw(t, "divisor")
				q.Keep(func(n *int) bool { return *n%divisor == 0 })
				want = slices.DeleteFunc(want, func(n int) bool { return n%divisor != 0 })
			},
			"": func(t *rapid.T) {
				var got []int
				got = append(got, q.all[q.head:]...)
				if !slices.Equal(got, want) || q.Len() != len(want) {
					t.Fatalf("holds %v, length %d; want %v", got, q.Len(), want)
				}
			},
		})
	})
}

// TestMemory: an array grows with what waits, not with what has passed
// through, and a large one is let go of.
func TestMemory(t *testing.T) {
	var q Queue[int]
	for range 100 {
		q.Push(1)
	}
	for range 100_000 {
		q.Push(1)
		q.Pop(kept)
	}
	if got := cap(q.all); got > 400 {
		t.Errorf("100 items are in an array of %d", got)
	}
	for q.Len() > 0 {
		q.Pop(kept)
	}
	if got := cap(q.all); got > kept {
		t.Errorf("an empty queue keeps an array of %d", got)
	}
	for range 2 {
		q.Push(1)
	}
	first := &q.all[:1][0]
	q.Pop(kept)
	q.Pop(kept)
	q.Push(1)
	if &q.all[0] != first {
		t.Error("a small array was not used again")
	}
}

// TestUse: the array that a queue begins with is given up for a larger one.
func TestUse(t *testing.T) {
	var q Queue[int]
	var one [1]int
	q.Use(one[:])
	q.Push(1)
	if one[0] != 1 || q.Front() != &one[0] {
		t.Errorf("the array has %v, want the value", one)
	}
	q.Push(2)
	q.PushFront(-1, 0)
	for want := -1; want <= 2; want++ {
		if got := q.Pop(kept); got != want {
			t.Errorf("popped %d, want %d", got, want)
		}
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		c := sync.NewCond(&mu)
		ctx, cancel := context.WithCancel(t.Context())
		holds, errs := false, make(chan error)
		wait := func() {
			mu.Lock()
			defer mu.Unlock()
			errs <- Wait(ctx, c, func() bool { return holds })
		}
		go wait()
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("Wait() = %v, want %v", err, context.Canceled)
		}
		ctx = t.Context()
		go wait()
		synctest.Wait()
		mu.Lock()
		holds = true
		c.Signal()
		mu.Unlock()
		if err := <-errs; err != nil {
			t.Errorf("Wait() = %v, want none", err)
		}
	})
}
