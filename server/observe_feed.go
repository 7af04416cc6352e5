package server

import (
	"net/http"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/peer"
)

// Paths of the feeds.
const (
	pathProfile = "/.settings/profile.json"
	pathTop     = "/.inspect/top.json"
)

func isFeed(pattern string) bool { return pattern == pathProfile || pattern == pathTop }

// feed sends an administrator what next returns, as server-sent events, whenever due
// has something, until the administrator leaves, is one no longer, or the server
// stops. begin is called when it is certain that there will be a feed; what it
// returns is called at its end.
func feed[T any](q *request, due <-chan T, begin func() (end func()), next func() []byte) (answer, error) {
	if q.r.Method == http.MethodHead {
		return answer{status: http.StatusOK, kind: typeEvents}, nil
	}
	s := q.s
	leave, err := s.feeds.enter(s.feedShare(q))
	if err != nil {
		q.refused(metrics.Profiles)
		return answer{}, err
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
	idle := time.NewTicker(keepAlive)
	defer idle.Stop()
	for event := next(); ; event = next() {
		if es.writeAll([][]byte{event}) != nil {
			return answer{}, nil
		}
		if !awaitFeed(q, &es, due, idle.C) {
			return answer{}, nil
		}
	}
}

const typeEvents = "text/event-stream; charset=utf-8"

// awaitFeed waits until there is something to send. It reports whether the feed goes
// on.
func awaitFeed[T any](q *request, es *eventStream, due <-chan T, idle <-chan time.Time) bool {
	for {
		select {
		case <-due:
			return true
		case <-idle:
			if es.writeAll([][]byte{[]byte(eventKeepAlive)}) != nil {
				return false
			}
		case <-es.check:
			if es.endsNow(q) {
				return false
			}
		case <-q.r.Context().Done():
			return false
		case <-q.s.stopping:
			return false
		}
	}
}

// appendFeedEvent appends an event whose data is a line of JSON.
func appendFeedEvent(dst []byte, name string, data []byte) []byte {
	dst = append(append(dst, "event: "...), name...)
	dst = append(append(dst, "\ndata: "...), data...)
	return append(dst, "\n\n"...)
}
