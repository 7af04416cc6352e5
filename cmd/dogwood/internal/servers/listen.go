// Package servers has the commands that run a server: serve, on data that is kept on disk,
// and dev, for development. It turns flags and files into the options of package server,
// watches those files, and serves operations (metrics, health, pprof) on an address of
// their own.
package servers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/server"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// listenFlags are the flags that all servers share.
type listenFlags struct {
	Host             string `default:"127.0.0.1" help:"Address to listen on."`
	Port             port   `default:"9000" short:"p" help:"Port to listen on; 0 picks a free one."`
	DefaultNamespace string `help:"Database of requests that name none." placeholder:"NAME"`
	rulesFlags
	Verbose   bool   `short:"v" help:"Log more."`
	LogFormat string `help:"Form of the log: text (key=value) or json, an object on each line." default:"text" enum:"text,json"`

	databases []string         // of the server; known when it is started
	given     map[string]int64 // databases that were given rules by an upload; known when the server is started

	watch bool // rules are reloaded when their files change

	tls *tls.Config // nil: plain HTTP

	ops        opsFlags
	operations *opsListener // nil: none

	fill   func(*server.Server) error            // is called before the server accepts connections; nil: nothing
	beside func(context.Context, *server.Server) // runs while the server does; nil: nothing

	hangups chan os.Signal                                      // SIGHUP; nil: not caught
	reload  func(context.Context, *server.Server, *slog.Logger) // at SIGHUP
}

// A port is the number of one, or 0 for any that is free.
type port int

// Validate is called by kong.
func (p port) Validate() error {
	if p < 0 || p > math.MaxUint16 {
		return fmt.Errorf("must be from 0 to %d", math.MaxUint16)
	}
	return nil
}

func (f *listenFlags) logger(e *console.Env) *slog.Logger {
	level := slog.LevelInfo
	if f.Verbose {
		level = slog.LevelDebug
	}
	o := &slog.HandlerOptions{Level: level}
	log := slog.New(slog.NewTextHandler(e.Stderr, o))
	if f.LogFormat == "json" {
		log = slog.New(slog.NewJSONHandler(e.Stderr, o))
	}
	for _, text := range e.Warnings {
		log.Warn(text)
	}
	return log
}

// run opens the databases that a server has from the start and serves until it
// is interrupted. started is called with its URL when it accepts connections, and an error of
// it ends the server.
func (f *listenFlags) run(e *console.Env, o server.Options, started func(url string) error) (err error) {
	names, err := namesOf(o)
	if err != nil {
		return err
	}
	end, err := f.configure(&o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if o.Spans, err = f.ops.spans(o.Log); err != nil {
		return err
	}
	defer o.Spans.Close() // behind the server
	s, err := server.New(o)
	if err != nil {
		return datadir.ExplainStart(o.Dir, err)
	}
	if f.operations, err = f.ops.listen(int(f.Port), o.Log); err != nil {
		return errors.Join(err, s.Close())
	}
	defer f.operations.stop()
	if o.Dir != "" {
		if err := openDatabases(s, o, names); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	l, scheme, err := f.listen()
	if err != nil {
		return errors.Join(err, s.Close())
	}
	if f.given, err = s.GivenRules(); err != nil {
		return errors.Join(err, l.Close(), s.Close())
	}
	if f.fill != nil {
		if err := f.fill(s); err != nil {
			return errors.Join(err, l.Close(), s.Close())
		}
	}
	f.databases = s.Namespaces()
	f.operations.ready(s)
	if err := started(scheme + "://" + l.Addr().String()); err != nil {
		return errors.Join(err, l.Close(), s.Close())
	}
	ctx, stop := context.WithCancel(e.Ctx)
	beside := f.startBeside(ctx, s, e.Stderr, o.Log)
	err = s.Serve(e.Ctx, l)
	stop()
	return errors.Join(err, awaitBeside(beside))
}

// namesOf returns the databases that the options name.
func namesOf(o server.Options) (names []string, err error) {
	names = o.Namespaces
	if o.DefaultNamespace != "" && !slices.Contains(names, o.DefaultNamespace) {
		names = append(slices.Clip(names), o.DefaultNamespace)
	}
	for _, name := range names {
		flag := "--namespace"
		if !slices.Contains(o.Namespaces, name) {
			flag = "--default-namespace"
		}
		if err := datadir.CheckName(flag, name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// startBeside starts backups and reloads, which run until ctx ends.
func (f *listenFlags) startBeside(ctx context.Context, s *server.Server, w io.Writer, log *slog.Logger) *sync.WaitGroup {
	beside := new(sync.WaitGroup)
	if f.watch && f.Rules != "" {
		beside.Go(func() { f.watchRules(ctx, s, w) })
	}
	if f.beside != nil {
		beside.Go(func() { f.beside(ctx, s) })
	}
	if f.hangups != nil {
		beside.Go(func() { f.reloadAtHangups(ctx, s, log) })
	}
	return beside
}

// besideGrace is how long a backup or a reload may take to end after the server has. It may
// be waiting for a disk.
const besideGrace = 2 * time.Second

// awaitBeside waits for backups and reloads, for a bounded time.
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

// listen returns the listener of the server, and the scheme of its address.
func (f *listenFlags) listen() (l net.Listener, scheme string, err error) {
	l, err = net.Listen("tcp", net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, "", fmt.Errorf("port %d is in use, perhaps by another server; choose another with --port, or --port 0 for any free one", f.Port)
	case err != nil:
		return nil, "", fmt.Errorf("--host %s --port %d: %w", f.Host, f.Port, err)
	case f.tls != nil:
		return l, "https", nil
	}
	return l, "http", nil
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
			o.Log.Error(durable.NoRoomFor("new database", err), "namespace", name, "err", err)
		case errors.Is(err, fs.ErrPermission):
			return datadir.ExplainFlag(o.Dir, err)
		case err != nil:
			return fmt.Errorf("%s: %w", filepath.Join(o.Dir, name+".db"), datadir.ExplainOpen(err))
		}
	}
	return nil
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

// catchHangups has SIGHUP reload instead of ending the process, until the function that
// it returns is called.
func (f *listenFlags) catchHangups() (stop func()) {
	f.hangups = make(chan os.Signal, 1) // one that comes during a reload is for the next
	signal.Notify(f.hangups, syscall.SIGHUP)
	return func() { signal.Stop(f.hangups) }
}

func (f *listenFlags) reloadAtHangups(ctx context.Context, s *server.Server, log *slog.Logger) {
	for {
		select {
		case <-f.hangups:
			f.reload(ctx, s, log)
		case <-ctx.Done():
			return
		}
	}
}

// ownRules says which databases have uploaded rules, to which --rules does not
// apply, "" if none has.
func (f *listenFlags) ownRules() string {
	if f.Rules == "" || len(f.given) == 0 {
		return ""
	}
	return "\n                 uploaded ones, not these: " + strings.Join(slices.Sorted(maps.Keys(f.given)), ", ")
}
