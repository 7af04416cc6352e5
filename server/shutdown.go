package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/server/observe"
)

// A shutdown has two times. For DrainTimeout, requests that are under way may finish, and
// queued writes are carried out. What is left then is cut: queued writes that were not
// begun are refused, and the contexts of requests end. For cutGrace, the batch that is
// being committed may end, and what was cut may be answered. Then the server returns,
// whatever still runs.

// errStopping is why what is under way is cut, and what is new refused.
var errStopping = errors.New("the server is shutting down")

// cutGrace is how long what was cut has to be answered. It is more than a batch takes.
const cutGrace = 2 * time.Second

// Serve answers requests on l until ctx ends or l fails. Then it stops
// accepting, ends event streams and realtime connections, lets requests finish
// for DrainTimeout, cuts what is left, and closes the server. It returns nil after a drain
// in which everything finished, and at the latest 2 s after DrainTimeout. Where Options.TLS
// is set l is one of plain connections. TLS that l does itself works, too, but is bounded less:
// see Options.TLS.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.opts.waits.headers,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    s.opts.MaxURLBytes + maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return s.requests },
		ConnContext:       s.conns.Begin,
		ConnState:         s.conns.Changed,
		ErrorLog:          observe.ErrorLog(s.log),

		DisableGeneralOptionsHandler: true, // it answers without counting
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(s.conns.Listen(l, s.opts.TLS)) }()
	select {
	case err := <-failed:
		h.Close()
		return errors.Join(fmt.Errorf("serve %s: %w", l.Addr(), err), s.Close())
	case <-ctx.Done():
	}
	idle := make(chan struct{})
	draining, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(idle)
		_ = h.Shutdown(draining) // closes the listener first; fails if it is given up
	}()
	err := s.end(idle)
	giveUp()
	h.Close()
	<-failed
	return err
}

// Close ends event streams and realtime connections and closes the databases, which
// refuses queued writes and finishes the commits that are under way. Requests that come
// later are answered with 503. It takes 2 s longer than DrainTimeout at most.
func (s *Server) Close() error {
	idle := make(chan struct{})
	close(idle)
	return s.end(idle)
}

// end shuts the server down, once. idle is closed when no HTTP request is under way.
func (s *Server) end(idle <-chan struct{}) error {
	s.ending.Do(func() { s.ended = s.shutDown(idle) })
	return s.ended
}

// The order: stop what never ends by itself; let requests drain; refuse what is queued in the
// databases; only then cut the contexts of requests. A write that is cut has therefore been
// either refused or begun, and its answer says which. The databases are closed last, and the
// lock of the directory after them.
func (s *Server) shutDown(idle <-chan struct{}) error {
	s.stop()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.rt.Shutdown()
		<-idle
	}()
	err := within(s.opts.DrainTimeout, drained)
	var left leftovers
	if err != nil {
		left = s.leftovers()
	}
	var failed error
	if s.opts.Drained != nil {
		failed = s.opts.Drained(s)
	}
	left.writes = s.spaces.beginClose() // first, so that no write is cut without its outcome
	s.cut(errStopping)
	if err != nil {
		err = s.tellCut(left)
		s.rt.Cut()
	}
	closed := make(chan error, 1)
	go func() { closed <- s.closeDatabases() }()
	return errors.Join(err, failed, s.awaitEnd(drained, closed))
}

// within waits for done, and fails if that takes longer than the given time.
func within(most time.Duration, done <-chan struct{}) error {
	over := time.NewTimer(most)
	defer over.Stop()
	select {
	case <-done:
		return nil
	case <-over.C:
		return context.DeadlineExceeded
	}
}

// awaitEnd waits until what was cut has ended and the databases are closed, for cutGrace
// at most. Then sockets are closed. A commit that hangs, as on a network disk, must not
// keep the process from ending: nothing that was acknowledged is lost by that.
func (s *Server) awaitEnd(drained <-chan struct{}, closed <-chan error) error {
	var err error
	all := make(chan struct{})
	result := make(chan error, 1)
	go func() {
		defer close(all)
		result <- <-closed
		<-drained
	}()
	if within(s.grace, all) != nil {
		s.rt.CloseSockets()
	}
	select {
	case err = <-result:
	default:
		var open []string
		for ns := range s.spaces.opened() {
			open = append(open, ns)
		}
		names := strings.Join(open, ", ")
		s.log.Error("shutdown: not all databases were closed: a commit or a read takes too long; what was acknowledged is on disk", "namespaces", names)
		err = fmt.Errorf("databases were not closed in time: %s", names)
	}
	return err
}

// closeDatabases closes the databases and what uses the data directory, and gives up
// the lock of the directory after that.
func (s *Server) closeDatabases() error {
	s.watching.Wait()
	s.auth.Close()
	return errors.Join(s.spaces.close(), s.lock.Release())
}

// leftovers are what is under way at the end of the drain time.
type leftovers struct{ requests, connections, imports, exports, writes int }

func (s *Server) leftovers() leftovers {
	return leftovers{
		requests:    int(s.underWay.Load()),
		connections: s.rt.Count(),
		imports:     s.imports.Used(),
		exports:     s.exports.Used(),
	}
}

// tellCut logs what is cut, and returns it as an error.
func (s *Server) tellCut(left leftovers) error {
	s.log.Warn("shutdown: the drain time is over, what is under way is cut", "after", s.opts.DrainTimeout,
		"requests", left.requests, "imports", left.imports, "exports", left.exports,
		"connections", left.connections, "queued_writes", left.writes)
	return fmt.Errorf("cut after %s: %d requests and %d realtime connections that were under way; %d queued writes were refused",
		s.opts.DrainTimeout, left.requests, left.connections, left.writes)
}

// isCut reports whether a context ended because the server is shutting down.
func isCut(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errStopping) }

// A cutWriter fails when its context has ended.
type cutWriter struct {
	ctx context.Context
	io.Writer
}

func (w cutWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}
