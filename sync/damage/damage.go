// Package damage tells administrators of damaged data, at a bounded rate.
package damage

import (
	"log/slog"
	"sync"
	"time"
)

// LogEvery is the time between two lines about damage. The first one comes at once.
const LogEvery = 10 * time.Second

// A Log writes to the log of the server what is damaged in one file. Its methods may be called
// by several goroutines at once.
type Log struct {
	log  *slog.Logger
	file string
	now  func() time.Time

	mu      sync.Mutex
	last    time.Time
	omitted int
}

// NewLog returns the log about a file.
func NewLog(log *slog.Logger, file string, now func() time.Time) *Log {
	return &Log{log: log, file: file, now: now}
}

// Note writes a line, unless the last one was just before.
func (l *Log) Note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if !l.last.IsZero() && now.Sub(l.last) < LogEvery && !now.Before(l.last) {
		l.omitted++
		return
	}
	l.log.Error("damaged data: run dogwood check on a copy, and restore a backup", "database", l.file, "err", err, "omitted", l.omitted)
	l.last, l.omitted = now, 0
}
