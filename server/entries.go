package server

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/tree/store"
)

const pathLog = "/.settings/log.json"

// typeLines is the type of an answer that has a JSON value on each line.
const typeLines = "application/x-ndjson"

// getLog sends an administrator the entries of the database's log from a revision on, as they
// are stored: GET /.settings/log.json?from=812&follow=true. Without follow it ends with the last
// one that is there.
func getLog(q *request) (answer, error) {
	from := uint64(0)
	if text, given := q.params.get("from"); given {
		var err error
		if from, err = strconv.ParseUint(text, 10, 64); err != nil {
			return answer{}, badRequest("from must be the number of a revision")
		}
	}
	if q.r.Method == http.MethodHead {
		return answer{status: http.StatusOK, kind: typeLines}, nil
	}
	leave, err := q.s.feeds.Enter(placeShare(q))
	if err != nil {
		q.refused(metrics.Profiles)
		return answer{}, &statusError{http.StatusServiceUnavailable, err.Error()}
	}
	defer leave()
	tail, err := q.db.Tail(from)
	if err != nil {
		return answer{}, logError(err)
	}
	defer tail.Close()
	follow, _ := q.params.get("follow")
	return sendEntries(q, tail, follow == "true")
}

// logError returns how an error of a reader of the log is answered.
func logError(err error) error {
	switch {
	case errors.Is(err, store.ErrNoLog):
		return &statusError{http.StatusConflict, "The database has no log."}
	case errors.Is(err, store.ErrTrimmed):
		return &statusError{http.StatusGone, "The log does not reach back to that revision."}
	}
	return err
}

// sendEntries sends what the tail has. The answer begins when there is an entry, or none yet.
// If the log is trimmed later, in front of a reader that is too slow, the answer breaks off.
//
// The client is a program that keeps its own place, as a replica does. So an answer that
// breaks off is enough to tell it that something is wrong: it asks again from its revision,
// and is told with 410 if that is gone.
func sendEntries(q *request, tail *store.Tail, follow bool) (answer, error) {
	news := tail.News()
	next, ok, err := tail.Ready()
	if err != nil {
		return answer{}, logError(err)
	}
	defer q.s.metrics.EventStreams.Open()()
	q.w.Header().Set("Content-Type", typeLines)
	q.w.Header().Set("X-Accel-Buffering", "no")
	q.w.WriteHeader(http.StatusOK)
	es := eventStream{client: peer.NewWriter(q.w, q.r), slow: q.countSlow, check: make(chan struct{}, 1)}
	defer es.watch(q)()
	q.visit.Shed()
	for {
		for ; ok; next, ok, err = tail.Ready() {
			if !es.mayGoOn(q, follow) {
				return cutShort(follow)
			}
			if es.writeAll([][]byte{next.Text}) != nil {
				return answer{}, nil
			}
		}
		if err != nil {
			q.s.log.WarnContext(q.r.Context(), "a reader of the log was ended", "namespace", q.ns, "err", err)
			panic(http.ErrAbortHandler) // a client must not take it for the end
		}
		if !follow || news == nil || !es.awaitNews(q, news) {
			return answer{}, nil
		}
		news = tail.News()
		next, ok, err = tail.Ready()
	}
}

// cutShort ends an answer of the log in front of an entry that is there. A client that asked
// for what there is must not take it for the end.
func cutShort(follow bool) (answer, error) {
	if !follow {
		panic(http.ErrAbortHandler)
	}
	return answer{}, nil
}

// mayGoOn is awaitNews for a client that has not been sent all that there is: it looks, and does
// not wait. Such a client may be slow for ever. An answer that ends by itself has the time to do so
// when the server stops.
func (es *eventStream) mayGoOn(q *request, follow bool) bool {
	select {
	case <-es.check:
		if es.ended(q) {
			return false
		}
	default:
	}
	select {
	case <-q.gone():
		return false
	case <-q.r.Context().Done():
		return false
	default:
	}
	select {
	case <-q.s.stopping:
		return !follow
	default:
		return true
	}
}

// awaitNews waits until there is more to send. It reports false if the answer ends: the client
// leaves, or may read no more, or the server stops.
func (es *eventStream) awaitNews(q *request, news <-chan struct{}) bool {
	for {
		select {
		case <-news:
			return true
		case <-es.check:
			if es.ended(q) {
				return false
			}
		case <-q.gone():
			return false
		case <-q.r.Context().Done():
			return false
		case <-q.s.stopping:
			return false
		}
	}
}
