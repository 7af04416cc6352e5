package server

import (
	"context"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	dsync "github.com/dogwooddb/dogwood/sync"
)

// A claim is what one request has taken of a budget. It is of one goroutine.
type claim struct {
	of  *budget
	has int64
}

// reach takes what is missing to n, or to all that a single claim may have if that is
// less. It reports whether there was so much left.
func (c *claim) reach(n int64) bool {
	more := min(n, c.of.most()) - c.has
	if more <= 0 {
		return true
	}
	if !c.of.take(more) {
		return false
	}
	c.has += more
	return true
}

// settle makes the claim n, whether or not that much is left.
func (c *claim) settle(n int64) {
	c.of.add(n - c.has)
	c.has = n
}

// end gives back all that was taken.
func (c *claim) end() {
	if c.has != 0 {
		c.of.give(c.has)
		c.has = 0
	}
}

// takeSoon is take for callers that can wait for a while: roomWait at most. full is
// called when it has to wait.
func (b *budget) takeSoon(ctx context.Context, n int64, full func()) bool {
	if b.take(n) {
		return true
	}
	full()
	ctx, cancel := context.WithTimeout(ctx, roomWait)
	defer cancel()
	for {
		select {
		case <-time.After(roomPoll):
		case <-ctx.Done():
			return false
		}
		if b.take(n) {
			return true
		}
	}
}

// fullBy returns whose bound it is that leaves no room for n more: one of all together,
// or that of the share.
func (b *budget) fullBy(n int64, all, share metrics.Reason) metrics.Reason {
	if b.whole != nil && b.whole.used.Load()+n <= b.whole.max {
		return share
	}
	return all
}

// A workMemory is what the writes of realtime connections take their memory from.
type workMemory struct {
	of   *budget
	full func() // counts that a write has to wait
}

// Reserve implements dsync.Memory.
func (m workMemory) Reserve(ctx context.Context, n int64) error {
	switch {
	case n > m.of.most():
		return dsync.ErrTooBig
	case !m.of.takeSoon(ctx, n, m.full):
		return dsync.ErrBusy
	}
	return nil
}

// Release implements dsync.Memory.
func (m workMemory) Release(n int64) { m.of.give(n) }
