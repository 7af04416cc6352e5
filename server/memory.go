package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/peer"
	dsync "github.com/dogwooddb/dogwood/sync"
)

// resourcesOf returns what the clients of an address use.
func (s *Server) resourcesOf(c *peer.Client) *peer.Resources {
	if c == nil {
		return s.all
	}
	return &c.Resources
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

// countFor makes what the request holds count for a client.
func (q *request) countFor(c *peer.Client) {
	if q.peer = c; c != nil {
		q.use(&c.Resources)
	}
}

// tooMany answers a request that was not admitted, in the form of its route.
func (q *request) tooMany(rt *route) {
	if rt.raw == nil {
		setCommonHeaders(q.w.Header(), q.r)
		q.send(q.failure(peer.ErrTooMany))
		return
	}
	refuseAddress(q.w)
}

// refuseAddress tells a client of the realtime protocol that its address has or
// does too much.
func refuseAddress(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, textTooMany, http.StatusTooManyRequests)
}
