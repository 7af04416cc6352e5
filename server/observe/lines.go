package observe

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Bounded returns a logger that writes to log, but warnings and errors of one text at a bounded
// rate, as LineLimiter.Often says, and with clipped values: clients cause many of those of a
// database, such as that a listen has ended. Texts of lines are constants, so there are few.
func Bounded(log *slog.Logger) *slog.Logger {
	return slog.New(boundedLines{Handler: log.Handler(), began: time.Now(), of: new(sync.Map)})
}

type boundedLines struct {
	slog.Handler
	began time.Time
	of    *sync.Map // text to *LineLimiter
}

// Handle implements slog.Handler.
func (b boundedLines) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return b.Handler.Handle(ctx, r)
	}
	lines, _ := b.of.LoadOrStore(r.Message, new(LineLimiter))
	count, ok := lines.(*LineLimiter).Often(time.Since(b.began))
	if !ok {
		return nil
	}
	line := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		line.AddAttrs(clipped(a))
		return true
	})
	if count > 1 {
		line.AddAttrs(slog.Uint64("count", count))
	}
	return b.Handler.Handle(ctx, line)
}

// clipped returns an attribute with a value that is not long.
func clipped(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString, slog.KindAny:
		if text := fmt.Sprint(v.Any()); len(text) > MaxLogged {
			return slog.String(a.Key, Clipped(text))
		}
	}
	return a
}

// WithAttrs implements slog.Handler.
func (b boundedLines) WithAttrs(attrs []slog.Attr) slog.Handler {
	b.Handler = b.Handler.WithAttrs(attrs)
	return b
}

// WithGroup implements slog.Handler.
func (b boundedLines) WithGroup(name string) slog.Handler {
	b.Handler = b.Handler.WithGroup(name)
	return b
}
