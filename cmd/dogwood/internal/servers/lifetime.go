package servers

import (
	"context"
	"log/slog"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/build"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/memory"
	"github.com/dogwooddb/dogwood/server"
)

// A lifetime writes the first and the last line that a server logs. A log with
// the first line and without the last one tells of a crash.
type lifetime struct {
	log   *slog.Logger
	began time.Time // zero: it did not start
}

// start logs what serves, where, and within which bounds.
func (l *lifetime) start(ctx context.Context, c *Serve, base string, limits server.Limits) {
	l.began = time.Now()
	attrs := []slog.Attr{
		slog.String("version", build.Version),
		slog.String("revision", build.Revision()),
		slog.String("data", c.Data),
		slog.Int("databases", len(c.databases)),
		slog.String("names", console.List(c.databases, maxNamesLogged, ",")),
		slog.String("address", base),
	}
	if c.operations != nil {
		attrs = append(attrs, slog.String("operations", c.operations.addr.String()))
	}
	l.log.LogAttrs(ctx, slog.LevelInfo, "started", append(attrs, boundAttrs(limits)...)...)
}

// end logs why a server that has started ended, and how long it ran. ctx is the one that
// it ran in.
func (l *lifetime) end(ctx context.Context, err error) {
	if l.began.IsZero() {
		return
	}
	cause := "error"
	if ctx.Err() != nil {
		cause = context.Cause(ctx).Error()
	}
	attrs := []slog.Attr{slog.String("cause", cause), slog.Duration("ran", time.Since(l.began).Round(time.Millisecond))}
	if err != nil {
		attrs = append(attrs, slog.Any("err", err))
	}
	l.log.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "stopped", attrs...)
}

// maxNamesLogged bounds the names in one line of the log, and of the greeting.
const maxNamesLogged = 10

// boundAttrs returns the bounds of a server for the line that it logs at its start.
func boundAttrs(l server.Limits) []slog.Attr {
	return append([]slog.Attr{slog.String("memory_source", memory.Limit().Source)}, l.Attrs()...)
}
