package server

import (
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"time"

	"github.com/dogwooddb/dogwood/server/peer"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
)

// Limits bounds what clients can ask of a server. A zero field takes its
// default, which is the documented limit of the hosted service where there is
// one (REST §11).
//
// The bounds that depend on the memory are parts of one sum. So a change of one
// of them has to be seen with the others, and in docs/limits.md, which a test
// compares with them.
type Limits struct {
	// Memory is what the process may have, 4 GiB if it is unknown. Bounds that say so
	// below are parts of it, or what is named if that is less.
	Memory int64

	MaxReadBytes    int64 // one answer; 3/16 of Memory, 256 MiB
	MaxWriteBytes   int64 // the body of one REST request; 256 MiB
	MaxMessageBytes int64 // one message of the realtime protocol; 16 MiB
	MaxURLBytes     int   // a request line; 128 KiB
	OutboxBytes     int   // what waits for one slow client; 1 MiB

	MaxBodiesBytes   int64 // all request bodies as they arrive; 1/8 of Memory, 512 MiB
	MaxWorkBytes     int64 // all that is made of them, and read for answers; 3/8 of Memory, 4 GiB
	MaxAnswersBytes  int64 // all large answers that wait to be sent, over REST and in realtime each; 1/8 of Memory, 512 MiB
	MaxPendingBytes  int64 // onDisconnect operations of all connections; 1/16 of Memory, 512 MiB
	MaxPendingWrites int64 // writes that wait, of one database; 1/32 of Memory, 64 MiB
	MaxConnections   int   // HTTP connections, event streams among them; 1/16 of Memory, 16 KiB each, 100,000
	MaxRealtime      int   // realtime connections; twice as many, 200,000
	MaxPolls         int   // connections through long polling among these; a fourth of them, 10,000
	MaxListens       int   // listens of all addresses that have bounds; 1/4 of Memory, 3 KiB each, 10,000,000
	MaxNamespaces    int   // databases that are made on first use; 10,000
	MaxPathWindows   int   // different queries at one path of one database, by weight; 10,000, MaxPathWindows at most

	KeepLogBytes int64         // of segments of the log that stay for readers after they are applied; 64 MiB, negative: none
	KeepLogAge   time.Duration // for how long at most; a day
	HoldLogBytes int64         // of segments that stay since a reader has not got to their end; 1 GiB

	MaxUnappliedBytes int64 // commits of all databases that are in the log and not in their files; 1/32 of Memory, 64 MiB

	MessageRate  int // messages per second of one realtime connection, after a burst; 2,000
	MessageBurst int // 10,000

	PerAddress AddressLimits // what one address may have of all that

	DrainTimeout time.Duration // how long requests may finish after shutdown began; 10 s
	IdleAfter    time.Duration // after which a database that nothing uses is closed, until it is used; 10 min, negative: never
}

// MaxPathWindows is the most that Limits.MaxPathWindows may be.
const MaxPathWindows = dsync.MaxPathWindows

// Defaults of what stays in the log for readers.
const (
	DefaultKeepLogBytes = 64 << 20
	DefaultKeepLogAge   = 24 * time.Hour
	DefaultHoldLogBytes = 1 << 30
)

// AddressLimits bound what one address can ask of a server.
type AddressLimits = peer.Limits

// Loopback are the addresses of the machine itself.
func Loopback() []netip.Prefix { return peer.Loopback() }

// DefaultLimits returns the limits of a server that was given none.
func DefaultLimits() Limits {
	var l Limits
	l.setDefaults()
	return l
}

func (l *Limits) setDefaults() {
	l.deriveFromMemory()
	orElse(&l.MaxWriteBytes, 256<<20)
	orElse(&l.MaxMessageBytes, 16<<20)
	orElse(&l.MaxURLBytes, 128<<10)
	orElse(&l.OutboxBytes, 1<<20)
	orElse(&l.MaxNamespaces, 10_000)
	orElse(&l.MaxPathWindows, 10_000)
	orElse(&l.MessageRate, 2_000)
	orElse(&l.MessageBurst, 10_000)
	l.PerAddress.SetDefaults()
	orElse(&l.DrainTimeout, 10*time.Second)
	orElse(&l.IdleAfter, 10*time.Minute)
}

func orElse[T int | int64 | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

const (
	maxHeaderBytes = 64 << 10  // of headers, without the longest request line
	maxRulesBytes  = 4 << 20   // of a rules document; the service documents 256 KiB and takes more
	maxBulk        = 4         // of imports, of exports and backups, and of streamed echoes, at a time
	maxBulkOf      = 2         // of the first two, of the administrators of one database
	maxSettingSize = 64 << 10  // of any other body under /.settings
	writeChunk     = 256 << 10 // of a long answer or of events, that are made at a time

	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute

	// A body has bodyGrace to arrive and another second for each bodyRate
	// bytes that did, but never more than bodyGrace in hand and never more than
	// bodyStall without a byte. So a slow network works and a client that stalls
	// does not, however fast it was before.
	bodyGrace = 30 * time.Second
	bodyRate  = 16 << 10
	bodyStall = 15 * time.Second

	readTimeout = 15 * time.Minute // of a query, and the longest that timeout= may ask for (REST §4.6)
	keepAlive   = 30 * time.Second // between keep-alive events (REST §10.2)
)

// defaultMemory is what a server plans with that was not told how much memory it has.
const defaultMemory = 4 << 30

// What a connection and a listen take in memory, for the bounds of their numbers. An
// idle WebSocket takes 14 KiB.
const (
	connectionBytes = 16 << 10
	listenBytes     = 1 << 10 // of its path, its query and its window
	wholeListen     = 3 << 10 // with what sessions and rules keep of it
)

// deriveFromMemory sets the bounds that depend on the memory, where they are zero. The parts for
// bodies, work, answers and connections together are the memory. The others are on top: listens,
// onDisconnect operations, queued writes and unapplied commits. Seldom are many used up at a time.
//
// A bound by count would be right for one size of machine only. Each of the defaults is
// both: a share of the memory, and an upper bound beyond which more does not help.
func (l *Limits) deriveFromMemory() {
	orElse(&l.Memory, defaultMemory)
	m := min(l.Memory, math.MaxInt64/16)
	orElse(&l.MaxWorkBytes, min(m*3/8, 4<<30))
	orElse(&l.MaxBodiesBytes, min(m/8, 512<<20))
	orElse(&l.MaxAnswersBytes, min(m/8, 512<<20))
	orElse(&l.MaxPendingBytes, min(m/16, 512<<20))
	orElse(&l.MaxPendingWrites, min(m/32, 64<<20))
	orElse(&l.KeepLogBytes, DefaultKeepLogBytes)
	orElse(&l.KeepLogAge, DefaultKeepLogAge)
	orElse(&l.HoldLogBytes, DefaultHoldLogBytes)
	orElse(&l.MaxUnappliedBytes, min(m/32, 64<<20))
	orElse(&l.MaxReadBytes, min(m*3/16, fault.MostRead))

	// Those through long polling are few: a browser moves on to a WebSocket when it can,
	// and they cost their owner no socket.
	connections := m / 16 / connectionBytes
	orElse(&l.MaxConnections, int(min(connections, 100_000)))
	orElse(&l.MaxRealtime, int(min(2*connections, 200_000)))
	orElse(&l.MaxPolls, int(min(connections/2, 10_000)))
	orElse(&l.MaxListens, int(min(m/4/wholeListen, 10_000_000)))

	a := &l.PerAddress
	orElse(&a.Connections, min(1_000, max(l.MaxRealtime/2, 1)))
	orElse(&a.Polls, min(500, max(l.MaxPolls/2, 1)))
	orElse(&a.BodyBytes, l.MaxBodiesBytes/2)
	orElse(&a.PendingBytes, min(m/32, 64<<20))
	orElse(&a.Listens, int(min(m/32/listenBytes, 100_000)))
}

// maxClients returns how many addresses are remembered: at least as many as there are
// connections by default. The memory of those that have one is part of that of the connection.
func (l Limits) maxClients() int {
	return int(min(max(l.Memory/32/peer.ClientBytes, 1), peer.MaxClients))
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
		slog.Int("listens", l.MaxListens),
	}
}
