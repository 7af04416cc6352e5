package server

import (
	"net/http"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/peer"
)

// Paths of the feeds.
const (
	pathProfile = "/.settings/profile.json"
	pathTop     = "/.inspect/top.json"
	pathIndexes = "/.inspect/indexes.json"
)

func isFeed(pattern string) bool {
	return pattern == pathProfile || pattern == pathTop || pattern == pathLog
}

// getTop tells an administrator of the whole server each second what it does:
// GET /.inspect/top.json
func getTop(q *request) (answer, error) {
	view := observe.NewView(q.s.viewed())
	tick := time.NewTicker(observe.TopEvery)
	defer tick.Stop()
	return feed(q, tick.C, func() func() { return view.Close }, view.Event)
}

// viewed is what views of the server look at.
func (s *Server) viewed() observe.Source {
	return observe.Source{Now: s.opts.Now, Metrics: s.metrics, Opened: s.spaces.opened(), Slow: s.slowClients, Log: s.spaces.measuredLog,
		Totals: s.totals}
}

// slowClients returns the clients with the most bytes waiting.
func (s *Server) slowClients() []observe.SlowClient {
	return observe.Slowest(s.streams.All(), s.rt.Clients())
}

// getProfile tells an administrator each operation on a database, in the form that
// firebase database:profile reads: GET /.settings/profile.json. Operations do
// not wait for it to be read.
func getProfile(q *request) (answer, error) {
	p := observe.NewProfile(q.s.opts.Now)
	return feed(q, p.Woken(), func() func() { return q.db.WatchOperations(p.Tell) }, p.Events)
}

// placeShare returns what something that an administrator does for long counts for.
func placeShare(q *request) observe.PlaceShare {
	id, err := q.s.credential(q.r.Header, q.params, "", func(string, string, error) {})
	return observe.PlaceShare{Namespace: q.ns, Bound: err != nil || !id.Admin}
}

// feed sends an administrator what next returns, as server-sent events, whenever due
// has something, until the administrator leaves, is one no longer, or the server
// stops. begin is called when it is certain that there will be a feed; what it
// returns is called at its end.
//
// Every feed is an event stream like those of data: it is bounded in number, its
// credential is checked while it runs, and a client that does not read is given up. An
// operation never waits for one, see package observe.
func feed[T any](q *request, due <-chan T, begin func() (end func()), next func() []byte) (answer, error) {
	if q.r.Method == http.MethodHead {
		return answer{status: http.StatusOK, kind: typeEvents}, nil
	}
	s := q.s
	leave, err := q.s.feeds.Enter(placeShare(q))
	if err != nil {
		q.refused(metrics.Profiles)
		return answer{}, &statusError{http.StatusServiceUnavailable, err.Error()}
	}
	defer leave()
	defer s.metrics.EventStreams.Open()()
	defer begin()()
	h := q.w.Header()
	h.Set("Content-Type", typeEvents)
	h.Set("X-Accel-Buffering", "no")
	q.w.WriteHeader(http.StatusOK)
	es := eventStream{client: peer.NewWriter(q.w, q.r), slow: q.countSlow, check: make(chan struct{}, 1)}
	defer es.watch(q)()
	q.visit.Shed()
	idle := time.NewTicker(keepAlive)
	defer idle.Stop()
	for event := next(); ; event = next() {
		if es.writeAll([][]byte{event}) != nil {
			return answer{}, nil
		}
		if !await(q, &es, due, idle.C) {
			return answer{}, nil
		}
	}
}
