// Package fifo has a queue in memory, and a wait for a condition that ends with a context.
package fifo

import (
	"context"
	"slices"
	"sync"
)

// A Queue hands out values in the order in which they came. The zero Queue is empty. It
// may not be used by several goroutines at once.
type Queue[T any] struct {
	all  []T
	head int // those before it are taken
}

// Use has an empty Queue that has no array yet begin with this one.
func (q *Queue[T]) Use(array []T) {
	if q.all == nil {
		q.all = array[:0]
	}
}

// Full reports whether the array has no room, so that the next Push needs a longer one.
func (q *Queue[T]) Full() bool {
	return len(q.all) == cap(q.all) && (q.head == 0 || q.head < len(q.all)/2)
}

// Move has the values go on in another array, which has room for them. It returns the array
// that they leave, which is clear.
func (q *Queue[T]) Move(array []T) (old []T) {
	old = q.all
	q.all, q.head = append(array[:0], q.all[q.head:]...), 0
	clear(old)
	return old[:0]
}

// Len returns how many values there are.
func (q *Queue[T]) Len() int { return len(q.all) - q.head }

// Front returns the first value. There is one.
func (q *Queue[T]) Front() *T { return &q.all[q.head] }

// Push adds a value behind the others.
func (q *Queue[T]) Push(x T) {
	if q.head > 0 && len(q.all) == cap(q.all) && q.head >= len(q.all)/2 {
		n := copy(q.all, q.all[q.head:])
		clear(q.all[n:])
		q.all, q.head = q.all[:n], 0
	}
	q.all = append(q.all, x)
}

// PushFront adds values before the others.
func (q *Queue[T]) PushFront(xs ...T) {
	if q.head < len(xs) {
		q.all, q.head = slices.Concat(xs, q.all[q.head:]), 0
		return
	}
	q.head -= len(xs)
	copy(q.all[q.head:], xs)
}

// Pop takes the first value. There is one. The array of a queue that becomes empty is kept
// for at most so many values.
func (q *Queue[T]) Pop(keep int) (x T) {
	var none T
	x, q.all[q.head] = q.all[q.head], none
	if q.head++; q.head < len(q.all) {
		return x
	}
	if q.all, q.head = q.all[:0], 0; cap(q.all) > keep {
		q.all = nil
	}
	return x
}

// Keep drops the values for which f returns false. f may change those that it keeps.
func (q *Queue[T]) Keep(f func(*T) bool) {
	kept := q.all[:0]
	for i := q.head; i < len(q.all); i++ {
		if f(&q.all[i]) {
			kept = append(kept, q.all[i])
		}
	}
	clear(q.all[len(kept):])
	q.all, q.head = kept, 0
}

// Wait waits until a condition holds or the context ends, whose error it returns. The lock
// of c is held, and c is signalled when the condition may have come to hold.
func Wait(ctx context.Context, c *sync.Cond, holds func() bool) error {
	if holds() {
		return nil
	}
	stop := context.AfterFunc(ctx, func() {
		c.L.Lock()
		defer c.L.Unlock()
		c.Broadcast()
	})
	defer stop()
	for !holds() && ctx.Err() == nil {
		c.Wait()
	}
	return ctx.Err()
}
