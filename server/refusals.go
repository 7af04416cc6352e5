package server

import (
	"errors"
	"net/http"
	"os"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/sync/fault"
)

// countFailure counts a request that failed because of a bound, unless the bound
// has counted it.
func (q *request) countFailure(err error) {
	if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) {
		q.refused(metrics.BodySize)
		return
	}
	if limit := (*fault.LimitError)(nil); errors.As(err, &limit) {
		q.refused(metrics.Bounds[limit.Bound])
		return
	}
	for _, row := range []struct {
		err    error
		reason metrics.Reason
	}{
		{errExpansion, metrics.BodyExpansion},
		{errCostly, metrics.WriteMemory},
		{os.ErrDeadlineExceeded, metrics.SlowBody},
		{errTooManyNamespaces, metrics.Namespaces},
	} {
		if errors.Is(err, row.err) {
			q.refused(row.reason)
			return
		}
	}
}

// refused counts that a bound refused the request.
func (q *request) refused(reason metrics.Reason) { q.s.refusals.Add(reason, q.from()) }

// from is the address that the request comes from.
func (q *request) from() string { return q.s.peers.Remote(q.r).Addr }

// countSlow counts the client of an event stream if err says that it did not take in time
// what it was sent.
func (q *request) countSlow(err error) { q.s.refusals.AddSlow(err, q.from()) }
