package server

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/server/dropped"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree/store/durable"

	dsync "github.com/dogwooddb/dogwood/sync"
)

// This file creates, lists and drops databases while the server runs (REST §12.6). All of it
// is for administrators of the whole server.

// Paths of it.
const (
	pathDatabase = "/.settings/databases/"
	pathDropped  = "/.settings/dropped/"
)

// getDatabases lists all namespaces as the emulator does: GET /.inspect/databases.json
func getDatabases(q *request) (answer, error) {
	type database struct {
		Name string `json:"name"`
	}
	list := []database{}
	for _, name := range q.s.spaces.names() {
		list = append(list, database{name})
	}
	return q.encode(list)
}

// getIndexes lists the indexes of a database: GET /.inspect/indexes.json
func getIndexes(q *request) (answer, error) {
	list, err := q.db.Indexes()
	if err != nil {
		return answer{}, err
	}
	return q.encode(list)
}

// A registry creates, describes and drops the databases of a server.
type registry struct{ *namespaces }

// A listedDatabase is a database as administrators see it in a list. To list it does not
// open it.
type listedDatabase struct {
	Name       string `json:"name"`
	Bytes      int64  `json:"bytes"` // of its file; 0: it has none yet
	Open       bool   `json:"open"`
	Default    bool   `json:"default"`
	Configured bool   `json:"configured"`
}

// A droppedDatabase is one that was dropped and not purged.
type droppedDatabase struct {
	File  string `json:"file"`
	Name  string `json:"name"`
	Time  string `json:"time"`
	Bytes int64  `json:"bytes"`
}

func describeDropped(f dropped.File) droppedDatabase {
	return droppedDatabase{f.Name, f.Database, f.At.UTC().Format(time.RFC3339), f.Bytes}
}

func (n registry) describe(ns *namespace) listedDatabase {
	d := listedDatabase{Name: ns.name, Open: ns.db.Load() != nil, Default: n.isDefault(ns.name), Configured: n.isConfigured(ns.name)}
	if n.opts.Dir != "" {
		if info, err := os.Stat(n.file(ns.name)); err == nil {
			d.Bytes = info.Size()
		}
	}
	return d
}

func (n registry) file(name string) string {
	return filepath.Join(n.opts.Dir, name+fileSuffix)
}

func (n registry) isDefault(name string) bool {
	fallback, err := n.fallback()
	return err == nil && fallback == name
}

func (n registry) isConfigured(name string) bool {
	return slices.Contains(n.opts.Namespaces, name) || slices.Contains(n.opts.Deactivated, name)
}

// listDatabases answers with the databases and those that were dropped:
// GET /.settings/databases.json
func listDatabases(q *request) (answer, error) {
	n := registry{q.s.spaces}
	list := struct {
		Databases []listedDatabase  `json:"databases"`
		Dropped   []droppedDatabase `json:"dropped"`
		Most      int               `json:"most"`
	}{[]listedDatabase{}, []droppedDatabase{}, n.opts.MaxNamespaces}
	for _, ns := range n.all() {
		list.Databases = append(list.Databases, n.describe(ns))
	}
	files, err := n.kept()
	for _, f := range files {
		list.Dropped = append(list.Dropped, describeDropped(f))
	}
	if err != nil {
		return answer{}, err
	}
	return q.encode(list)
}

// named takes the name of a database from the path of a request.
func (q *request) named() (string, error) {
	name, ok := strings.CutSuffix(strings.TrimPrefix(q.path, pathDatabase), ".json")
	if !ok || !validNamespace(name) {
		return "", badNamespace(name)
	}
	q.ns = name
	return name, nil
}

// getDatabase says what is in a database, so that one may see what would be dropped:
// GET /.settings/databases/NAME.json
func getDatabase(q *request) (answer, error) {
	name, err := q.named()
	if err != nil {
		return answer{}, err
	}
	n := registry{q.s.spaces}
	ns, err := n.existing(name)
	if err != nil {
		return answer{}, err
	}
	db, err := n.use(ns)
	if err != nil {
		return answer{}, err
	}
	q.using = ns
	children, err := db.Count(q.r.Context(), dsync.Read{Caller: q.id.Caller, Plain: true, OneShot: true, Hold: q.hold})
	if err != nil {
		return answer{}, err
	}
	usage, err := db.Usage()
	if err != nil {
		return answer{}, err
	}
	d := n.describe(ns)
	d.Bytes = usage.Bytes
	return q.encode(struct {
		listedDatabase
		FreeBytes   int64 `json:"freeBytes"`
		Children    int   `json:"children"`
		Connections int   `json:"connections"`
		Listens     int   `json:"listens"`
	}{d, usage.FreeBytes, children, q.s.rt.CountIn(name), int(db.Stats().Listeners)})
}

// existing is find without making what is not there.
func (n registry) existing(name string) (*namespace, error) {
	n.mu.Lock()
	there := n.known[name] != nil
	n.mu.Unlock()
	if !there {
		return nil, noNamespace(name)
	}
	return n.find(name)
}

// postDatabase creates a database: POST /.settings/databases.json with {"name":"shop"}
func postDatabase(q *request) (answer, error) {
	var wanted struct {
		Name string `json:"name"`
	}
	if _, err := readSetting(q, &wanted); err != nil {
		return answer{}, err
	}
	if !validNamespace(wanted.Name) {
		return answer{}, badNamespace(wanted.Name)
	}
	ns, err := registry{q.s.spaces}.create(wanted.Name)
	if err != nil {
		return answer{}, err
	}
	q.s.log.InfoContext(q.r.Context(), "created a database", append([]any{"namespace", wanted.Name}, q.author()...)...)
	return q.encode(registry{q.s.spaces}.describe(ns))
}

// author names the administrator for the log.
func (q *request) author() []any {
	args := []any{"request", q.id.Origin.Request}
	for _, a := range q.s.peers.Remote(q.r).Attrs() {
		args = append(args, a)
	}
	return args
}

// create makes a database that does not exist. When it returns nil, the file is on disk and
// so is its name.
//
// The namespace is known before its database is there, with its lock held: requests for it
// wait for the outcome, and two that create it cannot both succeed.
func (n registry) create(name string) (*namespace, error) {
	if err := n.mayChange(); err != nil {
		return nil, err
	}
	if short := n.shortage(); short != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrUnavailable, short)
	}
	ns := newNamespace(name)
	ns.mu.Lock()
	defer ns.mu.Unlock()
	kept, err := n.kept()
	if err == nil {
		err = n.enter(ns, len(kept))
	}
	if err != nil {
		return nil, err
	}
	err = n.foreignFile(ns)
	if err == nil {
		_, err = n.openHeld(ns)
	}
	if err == nil && n.opts.Dir != "" {
		err = durable.SyncDir(n.opts.Dir)
	}
	if err != nil {
		n.forget(ns)
		return nil, err
	}
	return ns, nil
}

// kept returns the files of dropped databases. They count for the bound of databases.
func (n registry) kept() ([]dropped.File, error) {
	if n.opts.Dir == "" {
		return nil, nil
	}
	files, err := dropped.List(n.opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("list dropped databases: %w", err)
	}
	return files, nil
}

// enter makes a new namespace known. ns.mu is held.
func (n registry) enter(ns *namespace, kept int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.closed:
		return fault.ErrClosed
	case n.known[ns.name] != nil:
		return errExists
	case len(n.known)+kept >= n.opts.MaxNamespaces:
		return &detailedError{errTooManyNamespaces, fmt.Sprintf("there may be %d, with the files of those that were dropped; purge some", n.opts.MaxNamespaces)}
	}
	n.known[ns.name] = ns
	return nil
}

// foreignFile refuses to create a database over a file that this server has not made. ns.mu
// is held.
func (n registry) foreignFile(ns *namespace) error {
	if n.opts.Dir == "" {
		return nil
	}
	_, err := os.Lstat(n.file(ns.name))
	switch {
	case err == nil:
		return &detailedError{errExists, "a file of this name was put into the data directory; restart the server to serve it"}
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// forget makes a namespace unknown whose database could not be created. ns.mu is held.
func (n registry) forget(ns *namespace) {
	ns.dropped = true
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, ns.name)
}

// mayChange refuses to create, drop or purge databases where nothing can be written.
func (n registry) mayChange() error {
	if n.log != nil && n.log.ReadOnly() {
		return fault.ErrReadOnly
	}
	return nil
}

// shortage is why a disk takes no new database, nil if it does.
func (n registry) shortage() error {
	if n.room == nil {
		return nil
	}
	if short := n.room.Short(); short != nil {
		return short
	}
	return nil
}

// deleteDatabase drops a database: DELETE /.settings/databases/NAME.json. Reads under way are
// waited for, whether the client waits or not.
func deleteDatabase(q *request) (answer, error) {
	name, err := q.named()
	if err != nil {
		return answer{}, err
	}
	n, s := registry{q.s.spaces}, q.s
	ns, err := n.beginDrop(name)
	if err != nil {
		return answer{}, err
	}
	var file dropped.File
	ended, author := make(chan error, 1), q.author()
	go func() {
		var err error
		if file, err = n.drop(ns, func() { s.rt.Dismiss(name, textDropped) }); err == nil {
			s.log.Info("dropped a database", append([]any{"namespace", name, "file", file.Name}, author...)...)
		} else {
			s.log.Error("a database could not be dropped", "namespace", name, "err", err)
		}
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-q.r.Context().Done():
		err = q.r.Context().Err()
	}
	if err != nil {
		return answer{}, err
	}
	d := describeDropped(file)
	d.Name = name
	return q.encode(d)
}

// beginDrop refuses a database to new requests, if it may be dropped. The next start would
// make one that the configuration names again, empty: so that is refused.
func (n registry) beginDrop(name string) (*namespace, error) {
	if err := n.mayChange(); err != nil {
		return nil, err
	}
	ns, err := n.existing(name)
	switch {
	case err != nil:
		return nil, err
	case n.isDefault(name):
		return nil, &statusError{http.StatusConflict, "The default database cannot be dropped."}
	case n.isConfigured(name):
		return nil, &statusError{http.StatusConflict, "The configuration of the server names this database: take it out of --namespace and restart, then drop it."}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if ns.leaving || n.known[name] != ns {
		return nil, errBeingDropped
	}
	ns.leaving = true
	return ns, nil
}

// drop closes a database and moves its file aside, in this order: what is new is refused (see
// beginDrop), what is queued too, clients are told, reads under way end, the file gets all that
// the log has of it, and only then its name is changed, which is one step. So after a crash at
// any time the database is there, or it is dropped.
//
// After a failure the namespace is there again, with no connection.
func (n registry) drop(ns *namespace, dismiss func()) (file dropped.File, err error) {
	close(ns.gone)
	ns.mu.Lock()
	defer ns.mu.Unlock()
	ns.dropped = true
	db := ns.db.Load()
	if db != nil {
		db.BeginClose()
	}
	dismiss() // also those of a database that is closed by now, which were about to begin
	if db != nil {
		err = db.Close()
	}
	last := metrics.Database{Namespace: ns.name}
	if db != nil {
		last = countsOf(ns.name, db)
	}
	ns.counts.Lock()
	ns.past = ns.past.Plus(last).Past()
	ns.db.Store(nil)
	past := ns.past
	ns.counts.Unlock()
	if err == nil && n.opts.Dir != "" {
		file, err = dropped.Move(n.file(ns.name), n.opts.Now())
		if errors.Is(err, fs.ErrNotExist) && db == nil && !ns.rested {
			err = nil // it was never opened, so it has no file
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		again := newNamespace(ns.name)
		again.rested, again.past, again.decisions = true, past, ns.decisions
		n.known[ns.name] = again
		if durable.Unwritable(err) {
			err = fmt.Errorf("%w: %w", fault.ErrUnavailable, err)
		}
		return file, err
	}
	n.past = n.past.Plus(past).Past()
	delete(n.known, ns.name)
	return file, nil
}

// purgeDatabase deletes the file of a dropped database: DELETE /.settings/dropped/FILE.json
func purgeDatabase(q *request) (answer, error) {
	n := registry{q.s.spaces}
	if err := n.mayChange(); err != nil {
		return answer{}, err
	}
	name := strings.TrimSuffix(strings.TrimPrefix(q.path, pathDropped), ".json")
	if _, ok := dropped.Parse(name); !ok || n.opts.Dir == "" {
		return answer{}, errNotFound
	}
	err := dropped.Purge(n.opts.Dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return answer{}, errNotFound
	}
	if err != nil {
		return answer{}, cmp.Or(unwritable(err), err)
	}
	q.s.log.InfoContext(q.r.Context(), "purged a dropped database", append([]any{"file", name}, q.author()...)...)
	return q.encode(struct {
		Purged string `json:"purged"`
	}{name})
}

// unwritable is the error for a directory that cannot be written to, nil for others.
func unwritable(err error) error {
	if durable.Unwritable(err) {
		return fmt.Errorf("%w: %w", fault.ErrUnavailable, err)
	}
	return nil
}
