package peer

import (
	"context"
	"errors"
	"time"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/sync/fault"
)

// MemoryTimeout is how long something waits for memory before it is refused.
const MemoryTimeout = 5 * time.Second

// AcquireSoon takes n from a share. If there is not enough left it calls full with the
// reason, and waits: for MemoryTimeout at most.
func AcquireSoon(ctx context.Context, s *limit.Share, n int64, full func(refusal error)) error {
	err := s.Try(n)
	if err == nil {
		return nil
	}
	full(err)
	ctx, cancel := context.WithTimeout(ctx, MemoryTimeout)
	defer cancel()
	return s.Acquire(ctx, n)
}

// ReasonOf says which of two bounds a refusal is of: that of all clients, or that of the
// share.
func ReasonOf(refusal error, all, share metrics.Reason) metrics.Reason {
	if errors.Is(refusal, limit.ErrShare) {
		return share
	}
	return all
}

// A WorkMemory is what writes and event streams take their memory from.
type WorkMemory struct {
	Of   *limit.Share
	Full func(refusal error) // counts that a write has to wait
}

// Reserve implements outbox.Memory.
func (m WorkMemory) Reserve(ctx context.Context, n int64) error {
	switch {
	case n > m.Most():
		return fault.ErrTooBig
	case AcquireSoon(ctx, m.Of, n, m.Full) != nil:
		return fault.ErrBusy
	}
	return nil
}

// Most implements outbox.Memory.
func (m WorkMemory) Most() int64 { return m.Of.Most() }

// Release implements outbox.Memory.
func (m WorkMemory) Release(n int64) { m.Of.Release(n) }
