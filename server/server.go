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
// read what was asked for, rest.go, stream.go, settings.go and emulator.go
// answer, and answer.go writes. room.go bounds what answers hold. errors.go has the one table from errors to
// statuses and texts.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/server/auth"
	"github.com/dogwooddb/dogwood/server/metrics"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/dirlock"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// Options says how a Server behaves. The zero value works: it serves nothing
// but configured databases, in memory, behind locked rules.
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
	Namespaces       []string // that exist, beside those that have a file in Dir
	Deactivated      []string // that exist but are out of service
	AdminSecrets     []string // credentials to which the rules do not apply, and keys of HS256 tokens

	Auth auth.Options // what else is believed; Dev, DataDir, Now and Log are those of here

	Rules        *rules.Ruleset            // of databases that were given none; nil is open in Dev, else locked
	RulesOf      map[string]*rules.Ruleset // of some of them, by name, instead of Rules
	RulesOptions dsync.RulesOptions        // how uploaded rules are read that don't say it themselves
	Decisions    Decisions                 // what is made of what rules decide

	Sample func() tree.Node // what a new database begins with; nil is empty
	Demo   http.Handler     // in Dev, answers what is below /demo/ and does not end with .json; nil is nothing

	Log *slog.Logger     // nil discards
	Now func() time.Time // nil is time.Now

	Limits
}

// A Server answers HTTP requests for a set of databases.
type Server struct {
	opts   Options
	log    *slog.Logger
	auth   *auth.Authority
	clock  *clock
	spaces *namespaces
	routes []route
	gate   *gate // nil: everybody may ask
	rt     *realtime
	bodies *budget       // bytes of request bodies in memory
	work   *budget       // bytes of what is made of them, and read for answers
	views  *dsync.Budget // bytes of views and values on their way to clients that listen

	answers *budget       // bytes of large answers in memory
	making  *dsync.Party  // of those who make answers: clients without bounds
	turns   *dsync.Turns  // of making answers
	imports chan struct{} // holds an element for each import
	exports chan struct{} // and for each export or backup
	backups backupCounts

	accounts *accounts // what addresses have and do
	links    *links    // connections that are open
	metrics  *metrics.Metrics
	refusals *refusals

	tokenLines tokenLines // of the log

	feeds   feeds
	streams streams

	presented presented      // credentials of event streams
	watching  sync.WaitGroup // for watchRevocations

	stopping chan struct{} // closed when event streams and sockets must end
	stop     func()        // closes stopping, once
	close    func() error  // closes the databases, once
	lock     *dirlock.Lock // of the directory
}

// New returns a server. It reads the names of the databases in o.Dir but opens
// none of them. No other process can use the directory until the server is closed:
// the error wraps a *dirlock.HeldError if one does.
func New(o Options) (*Server, error) {
	o.setDefaults()
	c := &clock{running: o.Now}
	o.Now = c.now
	counts := metrics.New()
	refusals := newRefusals(&counts.Refused, o.Log)
	s := &Server{
		opts:     o,
		clock:    c,
		log:      o.Log,
		bodies:   &budget{max: o.MaxBodiesBytes, refuse: func() { refusals.add(metrics.Bodies, "") }},
		work:     &budget{max: o.MaxWorkBytes},
		views:    dsync.NewBudget(o.MaxAnswersBytes),
		answers:  &budget{max: o.MaxAnswersBytes},
		turns:    dsync.NewReadTurns(),
		imports:  make(chan struct{}, maxBulk),
		exports:  make(chan struct{}, maxBulk),
		stopping: make(chan struct{}),
		metrics:  counts,
		refusals: refusals,
	}
	s.making = s.turns.Everybody()
	var err error
	if s.gate, err = newGate(o); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.stop = sync.OnceFunc(func() { close(s.stopping) })
	s.close = sync.OnceValue(s.closeAll)
	s.accounts = newAccounts(s)
	s.links = newLinks(s, s.accounts)
	s.rt = newRealtime(s)
	s.routes = s.table()
	if o.Dir != "" && !o.Dev { // where something can be revoked
		s.watching.Go(s.watchRevocations)
	}
	return s, nil
}

// LockHolder is what a Server calls itself in the lock of its directory.
const LockHolder = "a server"

// open locks the data directory and reads what is in it.
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
	if s.spaces, err = newNamespaces(s.opts); err == nil {
		s.auth, err = newAuthority(s.opts)
	}
	if err != nil {
		return errors.Join(err, s.lock.Release())
	}
	return nil
}

func (o *Options) setDefaults() {
	o.Limits.setDefaults()
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

// Serve answers requests on l until ctx ends or l fails. Then it stops
// accepting, ends event streams and realtime connections, lets requests finish
// for DrainTimeout, and closes the server. It returns nil after a drain in
// which every request finished.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    s.opts.MaxURLBytes + maxHeaderBytes,
		ConnContext:       s.links.begin,
		ConnState:         s.links.changed,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	select {
	case err := <-failed:
		h.Close()
		return errors.Join(fmt.Errorf("serve %s: %w", l.Addr(), err), s.Close())
	case <-ctx.Done():
	}
	err := s.drain(context.WithoutCancel(ctx), h)
	<-failed
	return errors.Join(err, s.Close())
}

func (s *Server) drain(ctx context.Context, h *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.DrainTimeout)
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- h.Shutdown(ctx) }() // closes the listener first
	s.stop()
	s.rt.shutdown(ctx)
	if err := <-drained; err != nil {
		h.Close()
		return fmt.Errorf("requests did not finish in %s: %w", s.opts.DrainTimeout, err)
	}
	return nil
}

// Close ends event streams and realtime connections and closes the databases,
// which finishes commits that are under way. Requests that come later are
// answered with 503.
func (s *Server) Close() error { return s.close() }

func (s *Server) closeAll() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.DrainTimeout)
	defer cancel()
	s.rt.shutdown(ctx)
	s.watching.Wait()
	s.auth.Close()
	return errors.Join(s.spaces.close(), s.lock.Release())
}
