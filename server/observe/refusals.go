package observe

import (
	"context"
	"errors"
	stdlog "log"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
)

// LinePause is the least time between two lines of the log about one reason.
const LinePause = 10 * time.Second

// Refusals count operations that reached a bound, and log their addresses. The log
// has a line per reason now and then, not one per refusal: a client that floods the
// server must not fill its disk. No lock is taken, since many come at once.
type Refusals struct {
	counts *metrics.Refusals
	log    *slog.Logger
	began  time.Time
	lines  [metrics.MaxReasons]LineLimiter
}

// A LineLimiter lets a line into the log now and then: it knows when the next one may be
// written, as time since the beginning, and how many events it will stand for. It is two
// atomics and no lock. Two goroutines that meet may count an event for the next line
// instead of this one, and none is lost.
type LineLimiter struct {
	due   atomic.Int64
	count atomic.Uint64
}

// Next counts an event at a time since the beginning. ok says that the line is to be
// written now, for count events.
func (l *LineLimiter) Next(since time.Duration) (count uint64, ok bool) {
	return l.next(since, LinePause, 1)
}

// Often is Next for lines that tell more together than one of them: LineBurst at once, and then
// one in a second.
func (l *LineLimiter) Often(since time.Duration) (count uint64, ok bool) {
	return l.next(since, time.Second, LineBurst)
}

// LineBurst is how many lines Often lets through at once.
const LineBurst = 10

// next lets one line through in a time, and those of a burst before they are due.
func (l *LineLimiter) next(since, each time.Duration, burst int) (count uint64, ok bool) {
	l.count.Add(1)
	due := time.Duration(l.due.Load())
	if since < due-time.Duration(burst-1)*each || !l.due.CompareAndSwap(int64(due), int64(max(since, due)+each)) {
		return 0, false
	}
	return l.count.Swap(0), true
}

// ErrorLog returns a logger for an http.Server, which writes to log at a bounded rate: clients
// cause most of what net/http has to say.
func ErrorLog(log *slog.Logger) *stdlog.Logger {
	return stdlog.New(&errorLog{log: log, began: time.Now()}, "", 0)
}

type errorLog struct {
	log   *slog.Logger
	began time.Time
	lines LineLimiter
}

// Write implements io.Writer.
func (l *errorLog) Write(p []byte) (int, error) {
	if count, ok := l.lines.Often(time.Since(l.began)); ok {
		l.log.Warn(strings.TrimSpace(string(p)), "count", count)
	}
	return len(p), nil
}

// NewRefusals returns what counts in counts and writes to log.
func NewRefusals(counts *metrics.Refusals, log *slog.Logger) *Refusals {
	return &Refusals{counts: counts, log: log, began: time.Now()}
}

// Add counts one refusal. from is the address of the client, "" if it is none in
// particular; the line has that of the last one.
func (r *Refusals) Add(reason metrics.Reason, from string) {
	r.counts.Add(reason)
	count, ok := r.lines[reason].Next(time.Since(r.began))
	if !ok {
		return
	}
	attrs := []slog.Attr{slog.String("reason", reason.String()), slog.Uint64("count", count)}
	if from != "" {
		attrs = append(attrs, slog.String("remote", from))
	}
	r.log.LogAttrs(context.Background(), slog.LevelWarn, "came up against a limit", attrs...)
}

// AddSlow counts a client that is given up because it did not take in time what it was
// sent, if that is what err says.
func (r *Refusals) AddSlow(err error, from string) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		r.Add(metrics.SlowConsumer, from)
	}
}
