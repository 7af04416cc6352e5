package server

import (
	"context"
	"errors"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/server/metrics"
	dsync "github.com/dogwooddb/dogwood/sync"
)

// resources are what a client uses together with others: the clients of one address, or all
// clients without bounds.
type resources struct {
	bodies  *limit.Share // bytes of request bodies in memory
	work    *limit.Share // bytes of what is made of them, and read for answers
	answers *limit.Share // bytes of large answers in memory
	pending *limit.Share // bytes of onDisconnect operations
	readers *limit.Share // places to read values, parse long texts, and decide large writes
	views   *dsync.Allowance
	quota   *dsync.Quota // nil: without bounds
}

// newResources returns what all clients share.
func newResources(o Limits) resources {
	pending := o.MaxPendingBytes
	if pending <= 0 {
		pending = limit.Unbounded
	}
	r := resources{
		bodies:  limit.NewMeter(o.MaxBodiesBytes).All(),
		work:    limit.NewMeter(o.MaxWorkBytes).All(),
		answers: limit.NewMeter(o.MaxAnswersBytes).All(),
		pending: limit.NewMeter(pending).All(),
		readers: dsync.NewReaders().All(),
	}
	r.views = dsync.NewAllowance(o.MaxAnswersBytes, r.readers)
	return r
}

// share returns what the clients of one address use together.
func (r *resources) share(l AddressLimits) resources {
	bytes := bound(int64(l.BodyBytes))
	readers := r.readers.Meter().Share(limit.Unbounded)
	return resources{
		bodies:  r.bodies.Meter().Share(bytes),
		work:    r.work.Meter().Share(limit.Unbounded),
		answers: r.answers.Meter().Share(bytes),
		pending: r.pending.Meter().Share(bound(l.PendingBytes)),
		readers: readers,
		views:   r.views.Share(bytes, readers),
		quota:   dsync.NewQuota(dsync.QuotaLimits{Listens: int64(l.Listens), Windows: l.Windows}),
	}
}

// bound returns a bound of which no positive value means that there is none.
func bound(n int64) int64 {
	if n <= 0 {
		return limit.Unbounded
	}
	return n
}

// resourcesOf returns what the clients of an address use.
func (s *Server) resourcesOf(a *account) *resources {
	if a == nil {
		return &s.all
	}
	return &a.resources
}

// reasonOf says which of two bounds a refusal is of: that of all clients, or that of the
// share.
func reasonOf(refusal error, all, share metrics.Reason) metrics.Reason {
	if errors.Is(refusal, limit.ErrShare) {
		return share
	}
	return all
}

// acquireSoon makes s hold n more. If there is no room it tells full why, and waits:
// roomWait at most.
func acquireSoon(ctx context.Context, s *limit.Share, n int64, full func(refusal error)) error {
	err := s.Try(n)
	if err == nil {
		return nil
	}
	full(err)
	ctx, cancel := context.WithTimeout(ctx, roomWait)
	defer cancel()
	return s.Acquire(ctx, n)
}

// A workMemory is what the writes of realtime connections take their memory from.
type workMemory struct {
	of   *limit.Share
	full func(refusal error) // counts that a write has to wait
}

// Reserve implements dsync.Memory.
func (m workMemory) Reserve(ctx context.Context, n int64) error {
	switch {
	case n > m.of.Most():
		return dsync.ErrTooBig
	case acquireSoon(ctx, m.of, n, m.full) != nil:
		return dsync.ErrBusy
	}
	return nil
}

// Release implements dsync.Memory.
func (m workMemory) Release(n int64) { m.of.Release(n) }
