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

// refusals count what came up against a bound, and have the log name who did. The
// log has a line per reason now and then, not one per refusal: whoever floods the
// server must not fill its disk. No lock is taken, since many come at once.
type refusals struct {
	counts *metrics.Refusals
	log    *slog.Logger
	began  time.Time
	lines  [metrics.Reasons]refusalLine
}

// A refusalLine is when the next line about a reason may be written, as time since
// the beginning, and how many refusals it will stand for.
type refusalLine struct {
	due   atomic.Int64
	count atomic.Uint64
}

func newRefusals(counts *metrics.Refusals, log *slog.Logger) *refusals {
	return &refusals{counts: counts, log: log, began: time.Now()}
}

// add counts one refusal. from is the address that it befell, "" if nobody in
// particular; the line has that of the last one.
func (r *refusals) add(reason metrics.Reason, from string) {
	r.counts.Add(reason)
	line := &r.lines[reason]
	line.count.Add(1)
	due, now := line.due.Load(), int64(time.Since(r.began))
	if now < due || !line.due.CompareAndSwap(due, now+int64(refusalPause)) {
		return
	}
	attrs := []slog.Attr{slog.String("reason", reason.String()), slog.Uint64("count", line.count.Swap(0))}
	if from != "" {
		attrs = append(attrs, slog.String("remote", from))
	}
	r.log.LogAttrs(context.Background(), slog.LevelWarn, "came up against a limit", attrs...)
}

// refused counts that a bound befell the request.
func (q *request) refused(reason metrics.Reason) { q.s.refusals.add(reason, q.from()) }

// from is the address that the request comes from.
func (q *request) from() string { return q.s.accounts.proxies.remoteOf(q.r).addr }

// from is the address at the other end of the socket, or of the client behind it.
func (s *socket) from() string {
	if s.c != nil {
		return s.c.remote.addr
	}
	return s.conn.RemoteAddr().String()
}
