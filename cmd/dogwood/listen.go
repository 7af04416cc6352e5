package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/dogwooddb/dogwood/server"
	"github.com/dogwooddb/dogwood/tree/store"
)

// listenFlags are the flags that all servers share.
type listenFlags struct {
	Host             string `default:"127.0.0.1" help:"Address to listen on."`
	Port             int    `default:"9000" short:"p" help:"Port to listen on; 0 picks a free one."`
	DefaultNamespace string `help:"Database of requests that name none." placeholder:"NAME"`
	rulesFlags
	Verbose bool `short:"v" help:"Log more."`

	databases []string // of the server; known when it is started
	given     []string // databases that were given rules by an upload; known when the server is started

	watch bool // rules are reloaded when their files change

	tls *tls.Config // nil: plain HTTP

	ops        opsFlags
	operations *opsListener // nil: none

	beside func(context.Context, *server.Server) // runs while the server does; nil: nothing

	hangups chan os.Signal                                      // SIGHUP; nil: not caught
	reload  func(context.Context, *server.Server, *slog.Logger) // at SIGHUP
}

func (f *listenFlags) logger(e *env) *slog.Logger {
	level := slog.LevelInfo
	if f.Verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}))
}

// run opens the databases that a server has from the start and serves until it
// is interrupted. started is called with its URL when it accepts connections.
func (f *listenFlags) run(e *env, o server.Options, started func(url string)) (err error) {
	names := o.Namespaces
	if o.DefaultNamespace != "" && !slices.Contains(names, o.DefaultNamespace) {
		names = append(slices.Clip(names), o.DefaultNamespace)
	}
	end, err := f.configure(&o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	s, err := server.New(o)
	if err != nil {
		return explainStart(err)
	}
	if f.operations, err = f.ops.listen(f.Port, o.Log); err != nil {
		return errors.Join(err, s.Close())
	}
	defer f.operations.stop()
	if o.Dir != "" {
		if err := openDatabases(s, o, names); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(f.Host, strconv.Itoa(f.Port)))
	if err != nil {
		return errors.Join(f.cannotListen(err), s.Close())
	}
	scheme := "http"
	if f.tls != nil {
		scheme, l = "https", tls.NewListener(l, f.tls)
	}
	if f.given, err = s.GivenRules(); err != nil {
		return errors.Join(err, l.Close(), s.Close())
	}
	f.databases = s.Namespaces()
	f.operations.ready(s)
	started(scheme + "://" + l.Addr().String())
	ctx, stop := context.WithCancel(e.ctx)
	var beside sync.WaitGroup
	if f.watch && f.Rules != "" {
		beside.Go(func() { f.watchRules(ctx, s, e.stderr) })
	}
	if f.beside != nil {
		beside.Go(func() { f.beside(ctx, s) })
	}
	if f.hangups != nil {
		beside.Go(func() { f.reloadAtHangups(ctx, s, o.Log) })
	}
	err = s.Serve(e.ctx, l)
	stop()
	return errors.Join(err, awaitBeside(&beside))
}

// besideGrace is how long what runs beside a server may take to end after it. A backup
// may be waiting for a disk.
const besideGrace = 2 * time.Second

// awaitBeside waits for what ran beside a server, for a bounded time.
func awaitBeside(beside *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		beside.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-time.After(besideGrace):
		return errors.New("a backup or a reload that was under way did not end in time; an unfinished backup is not used")
	}
}

func (f *listenFlags) cannotListen(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is in use, perhaps by another server; choose another with --port, or --port 0 for any free one", f.Port)
	}
	return err
}

// openDatabases opens the databases that a server has from the start, so that
// what is wrong with them is said now and not to the first client. New ones for which
// there is no room are opened when they are asked for and there is.
func openDatabases(s *server.Server, o server.Options, names []string) error {
	for _, name := range names {
		switch err := s.Open(name); {
		case errors.Is(err, store.ErrLocked):
			return fmt.Errorf("another server is running on %s; stop it, or choose another --data", o.Dir)
		case store.NoRoom(err):
			o.Log.Error("there is no room for a new database", "namespace", name, "err", err)
		case err != nil:
			return fmt.Errorf("%s: %w", filepath.Join(o.Dir, name+".db"), explainOpen(err))
		}
	}
	return nil
}

// isLoopback reports whether an address can be reached from this machine only.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// reachable returns the URL by which this machine reaches a server that listens
// on base: no client can connect to the address that stands for all addresses.
func reachable(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort("localhost", u.Port())
	}
	return u.String()
}
