// Package server is the door to Dogwood's databases: REST and its event
// streams, the realtime protocol over WebSocket and long polling, the
// management surface under /.settings, and what the emulator tools expect. It
// decodes, asks package sync, and encodes; it decides nothing about data.
//
// A [Server] is an [http.Handler]. It serves many databases, called
// namespaces, each of which is one *sync.Database that is opened when it is
// first asked for. [Server.Serve] runs it on a listener until a context ends.
//
// REST requests take one way through the package: routes.go finds the handler,
// request.go takes the request apart, params.go, query.go and conditions.go
// read what was asked for, rest_read.go, rest_write.go, stream.go, settings.go and emulator.go
// answer, and answer.go writes. A handler is a function of the request. reservation.go
// bounds what requests hold, and errors.go has the one table from errors to statuses and
// texts. The realtime protocol is served by package realtime.
package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/server/auth"
	"github.com/dogwooddb/dogwood/server/bookmark"
	"github.com/dogwooddb/dogwood/server/front"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/server/realtime"
	"github.com/dogwooddb/dogwood/server/space"
	"github.com/dogwooddb/dogwood/server/telemetry"
	"github.com/dogwooddb/dogwood/sync/histogram"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/dirlock"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// Options says how a Server behaves. The zero value works: it serves nothing
// but configured databases, in memory, behind locked rules.
//
// New copies it. Later changes go through methods of the Server, such
// as SetSecrets.
type Options struct {
	Dir string // where the databases are kept; "" keeps them in memory

	// Dev makes the server behave as the emulator does: open rules, any bearer
	// token is an administrator's, unsigned tokens are believed, and databases
	// are made when they are first used. It must not face a network.
	Dev bool

	// In Dev, requests whose Host is no name or address of loopback, and those of pages
	// whose origin is not on this machine, are refused unless these have them. An address
	// that stands for all addresses, such as 0.0.0.0, allows each of them as a Host. The
	// host of an origin is allowed, too; "null" is the origin of files and sandboxed frames.
	AllowHosts, AllowOrigins []string

	DefaultNamespace string   // for requests that name none; "" is the only one there is
	Namespaces       []string // that exist, in addition to those that have a file in Dir
	Deactivated      []string // that exist but are out of service
	AdminSecrets     []string // credentials to which the rules do not apply, and keys of HS256 tokens

	Auth AuthOptions // what else is believed; Dev, DataDir, Now and Log are those of here

	Rules        *rules.Ruleset              // of databases that were given none; nil is open in Dev, else locked
	RulesOf      map[string]*rules.Ruleset   // of some of them, by name, instead of Rules
	Data         *derive.Document            // that declares data of databases that were given none by an upload; nil is none
	DataOf       map[string]*derive.Document // of some of them, by name, instead of Data
	RulesOptions RulesOptions                // how uploaded rules are read that don't say it themselves
	Decisions    Decisions                   // what is made of what rules decide

	Sample func() tree.Node // what a new database begins with; nil is empty
	Demo   http.Handler     // in Dev, answers what is below /demo/ and does not end with .json; nil is nothing

	// TLS is what Serve speaks on its listener; nil is plain HTTP. A program that has
	// certificates of its own gives their Config here, with GetCertificate if they change,
	// and Serve a plain listener. Then handshakes and the heads of requests take their
	// memory from that of the client address, and from all of it. On a listener that is of
	// TLS already only their length is bounded, for each connection alone.
	TLS *tls.Config

	// Certificates says until when they are valid, by host, for metrics; nil: nothing is known.
	// The zero time is a host that has none.
	Certificates func() map[string]time.Time

	// Spans are where requests and operations are traced; nil: nowhere. The server does not
	// close it.
	Spans *Traces

	// MinFree is how much of the disks of Dir and of its log is to stay free. Where there is
	// less, writes stop until there is more: those that only delete go on. Zero is nothing.
	MinFree Amount

	// Drained is called once while the server shuts down, when clients are gone and their
	// onDisconnect operations are carried out, or the drain time is over. The databases are
	// still open, and ServeHTTP answers. The shutdown waits for it and returns its error.
	Drained func(*Server) error

	Log *slog.Logger     // nil discards
	Now func() time.Time // nil is time.Now

	Limits

	revoked  func(ns, proof string) (bool, error) // asked about onDisconnect operations; nil: none was
	logSyncs *histogram.Histogram
	statDisk func(dir string) (space.Stat, error) // nil: the system's
	uptime   func() time.Duration                 // by which databases are idle; tests set it

	// How long a client may do nothing. Tests on real sockets, for which no clock can be set,
	// wait less than the constants, which are the defaults.
	waits struct {
		headers time.Duration // headerTimeout
		body    time.Duration // bodyStall
		message time.Duration // realtime.Stalled
		write   time.Duration // peer.WriteTimeout
	}
}

// Names for the types of Options that other packages have: programs can only import this one.
type (
	// AuthOptions say which credentials are believed.
	AuthOptions = auth.Options

	// A Provider makes ID tokens that are believed.
	Provider = auth.Provider

	// An Audience is what the aud of a token says when it is for a database.
	Audience = auth.Audience

	// A Secret is a credential of an administrator.
	Secret = auth.Secret

	// RulesOptions say how a rules document is to be read.
	RulesOptions = versions.Options

	// Decisions say what is made of the decisions of rules.
	Decisions = observe.Decisions

	// A Recorder keeps the decisions of rules in a file. OpenRecorder makes one.
	Recorder = observe.Recorder

	// An Amount is how much of a disk is to stay free.
	Amount = space.Amount

	// TraceOptions say where traces are sent, and how many of them.
	TraceOptions = telemetry.Options

	// Traces are sent to a collector of OpenTelemetry. NewTraces makes them.
	Traces = telemetry.Exporter
)

// OpenRecorder opens a file to whose end decisions are added, for Options.Decisions.
func OpenRecorder(file string) (*Recorder, error) { return observe.OpenRecorder(file) }

// NewTraces returns what sends traces, for Options.Spans. The caller closes it.
func NewTraces(o TraceOptions) (*Traces, error) { return telemetry.New(o) }

// A Server answers HTTP requests for a set of databases.
//
// Its fields are set by New and do not change, except for those that are locks,
// atomics or channels. Its parts have locks of their own; see namespace for the
// order of those of databases.
//
// Everything that runs ends with one of two: stopping, for what must end when a
// shutdown begins (event streams, sockets, background work), and requests, for
// what may finish for a while.
type Server struct {
	opts   Options
	log    *slog.Logger
	auth   *auth.Authority
	clock  *clock
	spaces *namespaces
	routes []route
	gate   *gate // nil: there is no gate
	front  *front.Page
	rt     *realtime.Server
	all    *peer.Resources // of clients without bounds
	grace  time.Duration   // cutGrace, but in tests on a busy machine

	imports observe.Places
	exports observe.Places              // of backups, too
	echoes  *limit.Share                // of answers with a value that was streamed; more are made in memory
	backups atomic.Pointer[BackupStats] // nil: none yet

	peers    *peer.Table // what addresses have and do
	conns    *peer.Conns // that are open
	metrics  *metrics.Metrics
	refusals *observe.Refusals

	credentials *observe.RefusedCredentials

	began time.Time
	lines struct{ failed, slow, wrong, handshakes observe.LineLimiter } // of the log

	readiness limit.Joint // of Ready

	feeds   observe.Places
	streams observe.Open[*outbox.Outbox, observe.SlowClient] // without the numbers

	bookmarks *bookmark.Sealer // of pages of readable=true

	presented observe.Open[*eventStream, auth.Identity] // credentials of event streams
	watching  sync.WaitGroup                            // for watchRevocations

	stopping chan struct{} // closed when event streams, sockets and background work must end
	stop     func()        // closes stopping, once
	requests context.Context
	cut      context.CancelCauseFunc // ends requests
	underWay atomic.Int64            // HTTP requests
	ending   sync.Once
	ended    error         // of ending
	lock     *dirlock.Lock // of the directory
}

// New returns a server. It reads the names of the databases in o.Dir but opens
// none of them. No other process can use the directory until the server is closed:
// the error wraps a *dirlock.HeldError if one does.
//
// No database is opened but those that the log has commits of, so that a server with
// thousands of databases starts at once. A database that cannot be opened is an error for
// its own requests, and the others are served.
func New(o Options) (*Server, error) {
	o.setDefaults()
	o.logSyncs = histogram.Durations()
	if began := time.Now(); o.uptime == nil {
		o.uptime = func() time.Duration { return time.Since(began) }
	}
	s := newServer(o)
	var err error
	if s.gate, err = newGate(s.opts); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.credentials = observe.NewRefusedCredentials(s.metrics, o.Log, s.auth)
	s.stop = sync.OnceFunc(func() { close(s.stopping) })
	s.requests, s.cut = context.WithCancelCause(context.Background())
	s.peers = newPeers(s)
	s.conns = peer.NewConns(s.peers)
	s.rt = s.newRealtime()
	s.routes = s.table()
	s.watch()
	return s, nil
}

// newServer returns a Server that has its counters and shares, and no database yet.
func newServer(o Options) *Server {
	c := &clock{running: o.Now}
	o.Now = c.now
	counts := metrics.New()
	refusals := observe.NewRefusals(&counts.Refused, o.Log)
	s := &Server{
		grace: cutGrace,
		began: time.Now(),
		opts:  o,
		clock: c,
		log:   o.Log,
		all: peer.NewResources(peer.Totals{
			Bodies:  o.MaxBodiesBytes,
			Work:    o.MaxWorkBytes,
			Answers: o.MaxAnswersBytes,
			Pending: o.MaxPendingBytes,
			Listens: o.MaxListens,

			HTTP:     o.MaxConnections,
			Realtime: o.MaxRealtime,
		}),
		imports:  observe.Places{Most: maxBulk, MostOf: maxBulkOf, What: "imports"},
		exports:  observe.Places{Most: maxBulk, MostOf: maxBulkOf, What: "exports and backups"},
		feeds:    observe.Places{Most: observe.MaxFeeds, MostOf: observe.MaxFeedsOf, What: "profiles"},
		echoes:   limit.NewMeter(maxBulk).All(),
		stopping: make(chan struct{}),
		metrics:  counts,
		refusals: refusals,

		bookmarks: bookmark.New(),
	}
	s.all.Bodies.Refused = func(error) { refusals.Add(metrics.Bodies, "") }
	s.front = front.New(front.Options{Dev: o.Dev, Demo: o.Dev && o.Demo != nil})
	return s
}

// newPeers returns the table of clients. Refusals are counted by reason.
func newPeers(s *Server) *peer.Table {
	return peer.NewTable(peer.Options{
		Limits:        s.opts.PerAddress,
		All:           s.all,
		MaxClients:    s.opts.maxClients(),
		HeaderTimeout: s.opts.waits.headers,
		WriteTimeout:  s.opts.waits.write,
		Refused:       s.refusals.Add,
		HandshakeFailed: func(addr string, err error) {
			if count, ok := s.lines.handshakes.Often(time.Since(s.began)); ok {
				s.log.Warn("TLS handshake failed", "remote", addr, "err", observe.Clipped(err.Error()), "count", count)
			}
		},
	})
}

// watch starts the tasks in the background, which end when the Server stops.
func (s *Server) watch() {
	o := &s.opts
	if o.Dir != "" && o.IdleAfter > 0 { // one in memory would be lost
		s.watching.Go(func() { s.spaces.closeIdleLoop(s.stopping) })
	}
	if s.spaces.room != nil {
		s.watching.Go(func() { s.spaces.room.Run(s.stopping) })
	}
	if o.Dir != "" && !o.Dev { // where something can be revoked
		s.watching.Go(s.watchRevocations)
	}
}

// LockHolder is what a Server calls itself in the lock of its directory.
const LockHolder = "a server"

// open locks the data directory and reads what is in it.
//
// The lock of the directory comes first: two processes with one log would
// destroy it. It is the last to be given up (see closeDatabases).
func (s *Server) open() (err error) {
	s.lock = new(dirlock.Lock)
	if s.opts.Dir != "" {
		if err := durable.MkdirAll(s.opts.Dir, 0o700); err != nil {
			return err
		}
		if s.lock, err = dirlock.Sole(s.opts.Dir, LockHolder); err != nil {
			return err
		}
	}
	if s.auth, err = newAuthority(s.opts); err != nil {
		return errors.Join(err, s.lock.Release())
	}
	s.opts.revoked = s.auth.Revoked // by databases that are opened now, too
	if s.spaces, err = newNamespaces(s.opts); err != nil {
		s.auth.Close()
		return errors.Join(err, s.lock.Release())
	}
	return nil
}

func (o *Options) setDefaults() {
	o.Limits.setDefaults()
	o.waits.headers = cmp.Or(o.waits.headers, headerTimeout)
	o.waits.body = cmp.Or(o.waits.body, bodyStall)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rules == nil {
		o.Rules = standardRules(o.Dev)
	}
}

// A clock is the time of all databases of a server: that of server timestamps
// and of now in rules. In dev mode tests may stop it at a time of their choice.
type clock struct {
	running func() time.Time
	stopped atomic.Pointer[time.Time] // nil while it runs
}

func (c *clock) now() time.Time {
	if t := c.stopped.Load(); t != nil {
		return *t
	}
	return c.running()
}
