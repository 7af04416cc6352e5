package server

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/space"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// emulatorNamespace is what the emulator uses for requests that name none.
const emulatorNamespace = "fake-server"

// fileSuffix ends the names of database files.
const fileSuffix = ".db"

// namespaces are the databases of a server, by name. A database is opened when it is first
// asked for, and closed when nothing has used it for Limits.IdleAfter.
//
// A namespace stays known while its database is closed, so closing idle databases frees
// their memory and changes nothing that clients can see, except for the time of their next
// first request.
type namespaces struct {
	opts    Options
	lines   *slog.Logger      // of databases
	log     *logged.Log       // nil: there is none
	room    *space.Watch      // of the data directory; nil: there is none
	reports *observe.Reporter // about denied operations
	absent  *observe.Reporter // about databases that were asked for in vain

	unindexed observe.Unindexed // queries of a server in Dev

	mu     sync.Mutex // guards what follows, and the rules in opts; not held while a database is opened
	known  map[string]*namespace
	closed bool
	past   metrics.Database // counts of databases that were dropped
}

// A namespace is one name and, once it was asked for, its database.
//
// Lock order: namespace.mu, then namespaces.mu. Each namespace has a lock of its own, since to
// open a database after a crash may take long, and requests for others do not wait for that.
// db can be read without it, so metrics and dogwood top do not wait either.
type namespace struct {
	name        string
	deactivated bool
	leaving     bool          // it is being dropped; guarded by that of namespaces
	gone        chan struct{} // closed then

	mu        sync.Mutex                     // held while db is opened or closed
	db        atomic.Pointer[dsync.Database] // nil: not open
	decisions *observe.RulesObserver         // of the database; nil before it was opened
	rested    bool                           // it was closed because nothing used it
	dropped   bool                           // nothing opens it any more

	users atomic.Int64 // grows with mu held
	used  atomic.Int64 // when the last one has left, by the clock of namespaces

	counts sync.Mutex       // of a moment, held to change db to nil and past together
	past   metrics.Database // counts of before it was last closed
}

func newNamespace(name string) *namespace {
	return &namespace{name: name, gone: make(chan struct{})}
}

// newNamespaces returns the namespaces that exist: the configured ones and
// those that have a file.
func newNamespaces(o Options) (*namespaces, error) {
	n := &namespaces{
		opts:    o,
		reports: observe.NewReporter(func(left int) { o.Decisions.LeftOut(o.Log, left) }),
		known:   make(map[string]*namespace),
		lines:   observe.Bounded(o.Log),
	}
	n.absent = observe.NewReporter(func(left int) {
		o.Log.Warn("no such database, not logged one by one", "count", left)
	})
	names, err := savedNamespaces(o)
	if err != nil {
		return nil, fmt.Errorf("databases in %s: %w", o.Dir, err)
	}
	if n.log, err = openLog(o); err != nil {
		return nil, err
	}
	if o.Dir != "" {
		n.room = space.New(space.Options{Data: o.Dir, Log: store.LogDir(o.Dir), Least: o.MinFree, To: o.Log, Stat: o.statDisk})
	}
	names = slices.Concat(names, o.Namespaces, o.Deactivated)
	if o.DefaultNamespace != "" {
		names = append(names, o.DefaultNamespace)
	}
	for _, name := range names {
		if !validNamespace(name) {
			return nil, errors.Join(fmt.Errorf("namespace %q: %w", name, errBadNamespace), n.closeLog())
		}
		n.known[name] = newNamespace(name)
	}
	for _, name := range o.Deactivated {
		n.known[name].deactivated = true
	}
	if err := n.recover(); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

// savedNamespaces returns the names of the databases in the data directory.
func savedNamespaces(o Options) (names []string, err error) {
	if o.Dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(o.Dir)
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), fileSuffix)
		switch {
		case ok && validNamespace(name):
			names = append(names, name)
		case ok:
			o.Log.Info("not served: a database has another name; dogwood restore takes a backup", "dir", o.Dir, "file", e.Name())
		}
	}
	return names, err
}

// validNamespace reports whether name is [a-z0-9][a-z0-9-]* of at most 63
// bytes, which also makes it a safe file name.
func validNamespace(name string) bool {
	if name == "" || len(name) > 63 || name[0] == '-' {
		return false
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// find returns the namespace with the given name, in dev mode a new one if
// there is none. Names come from strangers. A server that made a database for
// each would be filled by them, so this happens in dev mode alone, and up to a
// bound.
func (n *namespaces) find(name string) (*namespace, error) {
	if !validNamespace(name) {
		return nil, badNamespace(name)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	ns := n.known[name]
	switch {
	case n.closed:
		return nil, fault.ErrClosed
	case ns != nil && ns.deactivated:
		return nil, errDeactivated
	case ns != nil && ns.leaving:
		return nil, errBeingDropped
	case ns != nil:
		return ns, nil
	case !n.opts.Dev:
		n.tellAbsent(name)
		return nil, noNamespace(name)
	case len(n.known) >= n.opts.MaxNamespaces:
		return nil, errTooManyNamespaces
	}
	ns = newNamespace(name)
	n.known[name] = ns
	return ns, nil
}

// noNamespace is the error for a database that does not exist.
func noNamespace(name string) error {
	return &detailedError{errNoNamespace, fmt.Sprintf("there is no database %q on this server; choose another with ?ns=NAME", name)}
}

// tellAbsent logs the name of a database that does not exist, at a bounded rate.
func (n *namespaces) tellAbsent(name string) {
	if n.absent.Take() {
		n.absent.Add(func() { n.opts.Log.Warn("no such database", "namespace", name) })
	}
}

// names returns the names of all namespaces, sorted.
func (n *namespaces) names() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.known))
}

// only returns the name of the namespace if there is one alone, else "".
func (n *namespaces) only() (name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) == 1 {
		for name = range n.known {
		}
	}
	return name
}

// fallback returns the namespace of requests that name none: the configured
// one, or the only one there is (REST §1.2, R-NS1).
func (n *namespaces) fallback() (string, error) {
	if n.opts.DefaultNamespace != "" {
		return n.opts.DefaultNamespace, nil
	}
	if name := n.only(); name != "" {
		return name, nil
	}
	if n.opts.Dev {
		return emulatorNamespace, nil
	}
	return "", &detailedError{errNoNamespace, "the request names no database, and the server has no default; choose one with ?ns=NAME"}
}

// database returns the open database of a namespace. The errors are
// errNoNamespace, errBadNamespace, errDeactivated and those of opening it.
func (n *namespaces) database(name string) (*dsync.Database, error) {
	ns, err := n.find(name)
	if err != nil {
		return nil, err
	}
	return n.open(ns)
}

// open opens a namespace's database if it is not open yet. Nothing keeps it open, see use.
func (n *namespaces) open(ns *namespace) (*dsync.Database, error) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	return n.openHeld(ns)
}

// openHeld is open with ns.mu held. A failure is not remembered: the next request tries again.
//
// Only the lock of this namespace is held. To open a file after a crash takes a while;
// requests for it wait here, and all others go on.
func (n *namespaces) openHeld(ns *namespace) (*dsync.Database, error) {
	if db := ns.db.Load(); db != nil {
		return db, nil
	}
	if ns.dropped {
		return nil, noNamespace(ns.name)
	}
	if n.isClosed() { // close visits ns after it set closed, and waits for ns.mu
		return nil, fault.ErrClosed
	}
	o := n.databaseOptions(ns.name)
	o.TellRules = n.opts.Decisions.Tell
	watch := ns.decisions
	if watch == nil {
		watch = observe.NewRulesObserver(n.opts.Decisions, ns.name, n.opts.Log, n.reports)
	}
	o.Observer = watch
	err := n.mayReopen(ns, o.File)
	var db *dsync.Database
	if err == nil {
		db, err = dsync.Open(o)
	}
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", ns.name, err)
	}
	if _, err := n.declare(context.Background(), ns.name, db); err != nil {
		return nil, errors.Join(fmt.Errorf("data document of %s: %w", ns.name, err), db.Close())
	}
	if ns.decisions == nil { // requests read it without the lock
		ns.decisions = watch
	}
	if n.opts.Spans != nil {
		db.WatchOperations(n.opts.Spans.Operations(ns.name)) // until it is closed
	}
	ns.used.Store(int64(n.opts.uptime()))
	ns.db.Store(db)
	return db, nil
}

func (n *namespaces) databaseOptions(name string) dsync.Options {
	o := dsync.Options{
		Rules:    n.defaultRules(name),
		Now:      n.opts.Now,
		Log:      n.lines.With("namespace", name),
		MaxRead:  n.opts.MaxReadBytes,
		MaxQueue: n.opts.MaxPendingWrites,
		Windows:  n.opts.MaxPathWindows,
		Sample:   n.opts.Sample,
	}
	if n.opts.revoked != nil {
		o.Revoked = func(proof string) (bool, error) { return n.opts.revoked(name, proof) }
	}
	if n.opts.Dev {
		o.Unindexed = n.unindexed.NoteIn(name, n.opts.Log)
	}
	if n.opts.Dir != "" {
		o.File = filepath.Join(n.opts.Dir, name+fileSuffix)
		o.Store.Log, o.Short = n.log, n.room.Short
	}
	return o
}

func (n *namespaces) isClosed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}

// beginClose refuses to open databases, and whatever is queued in those that are open. It
// returns how many writes that were. It is two steps with close, so that every database
// refuses new writes before the server waits for the first of them.
func (n *namespaces) beginClose() (refused int) {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	for _, db := range n.opened() {
		refused += db.BeginClose()
	}
	return refused
}

// close closes the databases, after beginClose. One that is slow does not delay others.
func (n *namespaces) close() error {
	all := n.all()
	errs := make([]error, len(all))
	var closing sync.WaitGroup
	for i, ns := range all {
		closing.Go(func() { errs[i] = ns.close() })
	}
	closing.Wait()
	n.reports.Close()
	n.absent.Close()
	return errors.Join(append(errs, n.closeLog())...)
}

// opened yields the databases that are open, by name. One that is being opened just
// now is left out: that can take long.
func (n *namespaces) opened() iter.Seq2[string, *dsync.Database] {
	return func(yield func(string, *dsync.Database) bool) {
		for _, ns := range n.all() {
			if db := ns.db.Load(); db != nil && !yield(ns.name, db) {
				return
			}
		}
	}
}

// all returns the namespaces, by name. They are sorted without the lock, for which all requests
// wait.
func (n *namespaces) all() []*namespace {
	all := n.unsorted()
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	return all
}

func (n *namespaces) unsorted() []*namespace {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.known))
}

// It waits for opening that is under way, which holds mu, so no database is left open behind a
// shutdown.
func (ns *namespace) close() error {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	db := ns.db.Load()
	if db == nil {
		return nil
	}
	defer ns.db.Store(nil)
	if err := db.Close(); err != nil {
		return fmt.Errorf("close database %s: %w", ns.name, err)
	}
	return nil
}

// Namespaces returns the names of all databases, sorted: the configured ones and those
// that have a file, open or not.
func (s *Server) Namespaces() []string { return s.spaces.names() }

// Open opens a namespace's database now, not when it is first asked for: so
// what is wrong with its file is said at the start, and no other process can
// have it. Errors wrap those of store.Open.
func (s *Server) Open(name string) error {
	_, err := s.spaces.database(name)
	return err
}

// resolve returns the name of the namespace that a request is for: the ns
// parameter, else the first label of the Host, else the default (REST §1.2,
// protocol §1.1).
func (n *namespaces) resolve(ps params, host string) (string, error) {
	name, _ := ps.get("ns")
	if name == "" {
		name = hostNamespace(host)
	}
	if name == "" {
		return n.fallback()
	}
	name = strings.ToLower(name)
	if !validNamespace(name) {
		return "", badNamespace(name)
	}
	return name, nil
}

// badNamespace is the error for a name that no database can have.
func badNamespace(name string) error {
	return &detailedError{errBadNamespace, fmt.Sprintf("%q is %v", observe.Clipped(name), errBadNamespace)}
}

// hostNamespace returns the namespace that a Host header names, "" if none.
// Hosts of two labels have none, as in the SDKs, except below localhost:
// example.org is a machine, shop.localhost a namespace on this one.
func hostNamespace(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if net.ParseIP(strings.Trim(host, "[]")) != nil {
		return ""
	}
	label, rest, _ := strings.Cut(host, ".")
	if rest == "localhost" || strings.Contains(rest, ".") {
		return label
	}
	return ""
}

// standardRules are the rules of a server that was given none.
func standardRules(dev bool) *rules.Ruleset {
	if dev {
		return rules.Open()
	}
	return rules.Locked()
}
