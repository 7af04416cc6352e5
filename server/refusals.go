package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
)

// refusalPause is the least time between two lines of the log about one reason.
const refusalPause = 10 * time.Second

// refusals count operations that reached a bound, and log their addresses. The
// log has a line per reason now and then, not one per refusal: a client that floods the
// server must not fill its disk. No lock is taken, since many come at once.
type refusals struct {
	counts *metrics.Refusals
	log    *slog.Logger
	began  time.Time
	lines  [metrics.Reasons]quietLine
}

// A quietLine is one of the log that is written now and then: when the next one may be,
// as time since the beginning, and how many events it will stand for.
type quietLine struct {
	due   atomic.Int64
	count atomic.Uint64
}

// next counts an event at a time since the beginning. ok says that the line is to be
// written now, for count events.
func (l *quietLine) next(since time.Duration) (count uint64, ok bool) {
	l.count.Add(1)
	due := l.due.Load()
	if int64(since) < due || !l.due.CompareAndSwap(due, int64(since+refusalPause)) {
		return 0, false
	}
	return l.count.Swap(0), true
}

func newRefusals(counts *metrics.Refusals, log *slog.Logger) *refusals {
	return &refusals{counts: counts, log: log, began: time.Now()}
}

// add counts one refusal. from is the address that was refused, "" for none in
// particular; the line has that of the last one.
func (r *refusals) add(reason metrics.Reason, from string) {
	r.counts.Add(reason)
	count, ok := r.lines[reason].next(time.Since(r.began))
	if !ok {
		return
	}
	attrs := []slog.Attr{slog.String("reason", reason.String()), slog.Uint64("count", count)}
	if from != "" {
		attrs = append(attrs, slog.String("remote", from))
	}
	r.log.LogAttrs(context.Background(), slog.LevelWarn, "came up against a limit", attrs...)
}

// refused counts that a bound refused the request.
func (q *request) refused(reason metrics.Reason) { q.s.refusals.add(reason, q.from()) }

// from is the address that the request comes from.
func (q *request) from() string { return q.s.peers.Remote(q.r).Addr }

// from is the address at the other end of the socket, or of the client behind it.
func (s *socket) from() string {
	if s.c != nil {
		return s.c.remote.Addr
	}
	return s.conn.RemoteAddr().String()
}
