// Package used counts how often each of a few things is used, and remembers when that was last.
package used

import (
	"sync"
	"sync/atomic"
	"time"
)

// Counts are those of things of one type. The zero Counts has counted nothing. Its methods may be
// called by several goroutines at once.
type Counts[T comparable] struct{ all sync.Map } // T → *count

type count struct{ times, last atomic.Int64 }

// Note counts a use.
func (c *Counts[T]) Note(of T) {
	v, ok := c.all.Load(of)
	if !ok {
		v, _ = c.all.LoadOrStore(of, new(count))
	}
	v.(*count).times.Add(1)
	v.(*count).last.Store(time.Now().UnixMilli())
}

// Of returns how often something was used, and in milliseconds when it was last; 0: never.
func (c *Counts[T]) Of(of T) (times, last int64) {
	if v, ok := c.all.Load(of); ok {
		return v.(*count).times.Load(), v.(*count).last.Load()
	}
	return 0, 0
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
