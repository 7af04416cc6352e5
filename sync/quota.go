package sync

import (
	"errors"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
)

// QuotaLimits are the bounds of a Quota. A bound that is not positive does not
// exist.
type QuotaLimits struct {
	Listens int64 // at a time
	Windows int   // of queries at one path of one database, by their weight
}

// A Quota bounds what several sessions have together, such as all those of one
// address, whatever databases they are on. A nil Quota bounds nothing.
type Quota struct {
	limits  QuotaLimits
	listens *limit.Share
}

// NewQuota returns a Quota of which nothing is used.
func NewQuota(l QuotaLimits) *Quota {
	most := l.Listens
	if most <= 0 {
		most = limit.Unbounded
	}
	return &Quota{limits: l, listens: limit.NewMeter(most).All()}
}

// listenBytes is how much of its path and query a listen may have that counts once.
const listenBytes = 1 << 10

// listenUnits returns what a listen counts for: its path and query are kept in memory.
func listenUnits(l *Listener) int64 {
	return 1 + int64(len(l.read.Path.Clean())+querySize(l.read.Query))/listenBytes
}

// querySize returns how long the texts of a query are.
func querySize(q tree.Query) int {
	size := len(q.OrderBy)
	for _, b := range []tree.Bound{q.Start, q.End} {
		size += len(b.Value.Text()) + len(b.Key)
	}
	return size
}

// takeListen counts one more listen, if there may be one.
func (q *Quota) takeListen(l *Listener) bool {
	return q == nil || q.listens.Try(listenUnits(l)) == nil
}

func (q *Quota) giveListen(l *Listener) {
	if q != nil {
		q.listens.Release(listenUnits(l))
	}
}

// takePending counts n more bytes of onDisconnect operations of the session, if there may be
// as many. There may always be fewer. The error is a *LimitError.
func (s *Session) takePending(n int) error {
	if s.pendingBytes == nil {
		return nil
	}
	if n <= 0 {
		s.pendingBytes.Release(int64(-n))
		return nil
	}
	switch err := s.pendingBytes.Try(int64(n)); {
	case errors.Is(err, limit.ErrShare):
		return &fault.LimitError{Bound: fault.BoundQuotaPending}
	case err != nil:
		return &fault.LimitError{Bound: fault.BoundCommonPending}
	}
	return nil
}

// untakePending undoes takePending.
func (s *Session) untakePending(n int) {
	switch {
	case s.pendingBytes == nil:
	case n > 0:
		s.pendingBytes.Release(int64(n))
	default:
		s.pendingBytes.Force(int64(-n))
	}
}
