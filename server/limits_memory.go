package server

import (
	"fmt"
	"log/slog"
	"math"
)

// defaultMemory is what a server plans with that was not told how much memory it has.
const defaultMemory = 4 << 30

// What a connection and a listen take in memory, for the bounds of their numbers. An
// idle WebSocket takes 14 KiB.
const (
	connectionBytes = 16 << 10
	listenBytes     = 1 << 10
)

// deriveFromMemory sets the bounds that depend on the memory, where they are zero. All
// parts together are the memory, and seldom are all used up at a time.
func (l *Limits) deriveFromMemory() {
	orElse(&l.Memory, defaultMemory)
	m := min(l.Memory, math.MaxInt64/16)
	orElse(&l.MaxWorkBytes, min(m*3/8, 4<<30))
	orElse(&l.MaxBodiesBytes, min(m/8, 512<<20))
	orElse(&l.MaxAnswersBytes, min(m/8, 512<<20))
	orElse(&l.MaxPendingBytes, min(m/16, 512<<20))
	orElse(&l.MaxPendingWrites, min(m/32, 64<<20))
	orElse(&l.MaxReadBytes, min(m*3/16, 256<<20))

	// Those through long polling are few: a browser moves on to a WebSocket when it can,
	// and they cost their owner no socket.
	connections := m / 16 / connectionBytes
	orElse(&l.MaxConnections, int(min(connections, 100_000)))
	orElse(&l.MaxRealtime, int(min(2*connections, 200_000)))
	orElse(&l.MaxPolls, int(min(connections/2, 10_000)))

	a := &l.PerAddress
	orElse(&a.Connections, min(1_000, max(l.MaxRealtime/2, 1)))
	orElse(&a.Polls, min(500, max(l.MaxPolls/2, 1)))
	orElse(&a.BodyBytes, l.MaxBodiesBytes/2)
	orElse(&a.PendingBytes, min(m/32, 64<<20))
	orElse(&a.Listens, int(min(m/32/listenBytes, 100_000)))
}

// Attrs returns the bounds that depend on the memory for a log.
func (l Limits) Attrs() []slog.Attr {
	l.setDefaults()
	mib := func(name string, n int64) slog.Attr { return slog.String(name, fmt.Sprintf("%dMiB", n>>20)) }
	return []slog.Attr{
		mib("memory", l.Memory),
		mib("work", l.MaxWorkBytes),
		mib("bodies", l.MaxBodiesBytes),
		mib("answers", l.MaxAnswersBytes),
		mib("one_read", l.MaxReadBytes),
		mib("on_disconnect", l.MaxPendingBytes),
		slog.Int("connections", l.MaxConnections),
		slog.Int("realtime_connections", l.MaxRealtime),
	}
}
