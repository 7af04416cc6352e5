// Package used counts how often each of a few things is used, and remembers when that was last.
package used

import (
	"sync"
	"sync/atomic"
	"time"
)

// Counts are those of things of one type. The zero Counts has counted nothing. Its methods may be
// called by several goroutines at once.
type Counts[T comparable] struct{ all sync.Map } // T → *Count

// A Count is that of one thing. Times are in milliseconds, and 0 is none.
type Count struct {
	Times, Last  atomic.Int64
	Since, Saved atomic.Int64 // from when Last is known; the Last that is stored. They are the caller's
}

// Note counts a use at a time.
func (c *Count) Note(now time.Time) {
	c.Times.Add(1)
	c.Last.Store(now.UnixMilli())
}

// Of returns the count of something.
func (c *Counts[T]) Of(of T) *Count {
	v, ok := c.all.Load(of)
	if !ok {
		v, _ = c.all.LoadOrStore(of, new(Count))
	}
	return v.(*Count)
}

// Keep forgets those for which keep is false, so that no more is remembered than there is.
func (c *Counts[T]) Keep(keep func(T) bool) {
	c.all.Range(func(of, _ any) bool {
		if !keep(of.(T)) {
			c.all.Delete(of)
		}
		return true
	})
}
