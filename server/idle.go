package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
)

// idleLooks is how often, in the time after which an idle database is closed, it is looked at.
const idleLooks = 10

// use opens a namespace's database if need be. It is not closed before the user has called
// leave on the namespace, unless the server shuts down.
//
// The counter grows with ns.mu held, and closeUnused looks at it with the same lock held.
// So a database is never closed between being found and being used. Leaving needs no lock.
func (n *namespaces) use(ns *namespace) (*dsync.Database, error) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	db, err := n.openHeld(ns)
	if err == nil {
		ns.users.Add(1)
	}
	return db, err
}

// leave ends one use.
func (n *namespaces) leave(ns *namespace) {
	ns.used.Store(int64(n.opts.uptime()))
	ns.users.Add(-1) // not before: it would seem unused since the use before
}

// closeIdleLoop closes databases that nothing has used for a while until stop is closed.
func (n *namespaces) closeIdleLoop(stop <-chan struct{}) {
	every := time.NewTicker(max(n.opts.IdleAfter/idleLooks, time.Second))
	defer every.Stop()
	for {
		select {
		case <-every.C:
			n.closeIdle()
		case <-stop:
			return
		}
	}
}

// closeIdle closes the databases that nothing has used for Limits.IdleAfter.
func (n *namespaces) closeIdle() {
	for _, ns := range n.all() {
		if !n.isIdle(ns) || !ns.mu.TryLock() {
			continue
		}
		err := n.closeUnused(ns)
		ns.mu.Unlock()
		if err != nil {
			n.opts.Log.Error("an idle database could not be closed", "namespace", ns.name, "err", err)
		}
	}
}

func (n *namespaces) isIdle(ns *namespace) bool {
	return ns.db.Load() != nil && ns.users.Load() == 0 && n.opts.uptime()-time.Duration(ns.used.Load()) >= n.opts.IdleAfter
}

// closeUnused closes a database if nothing uses it. ns.mu is held, so no use can begin:
// those that come meanwhile wait, and open it again.
func (n *namespaces) closeUnused(ns *namespace) error {
	db := ns.db.Load()
	if n.isClosed() || !n.isIdle(ns) || !dsync.Idle(db) {
		return nil
	}
	usage, _ := db.Usage() // only shown
	err := db.Close()
	last := countsOf(ns.name, db)
	last.Usage = usage
	ns.counts.Lock()
	ns.past = ns.past.Plus(last).Past()
	ns.db.Store(nil)
	ns.counts.Unlock()
	ns.rested = true
	n.opts.Log.Debug("closed an idle database", "namespace", ns.name)
	return err
}

// mayReopen refuses to open a database anew whose file has gone while it was closed: an empty
// one in its place would hide that. The first opening in the life of a process makes a
// missing file, later ones do not.
func (n *namespaces) mayReopen(ns *namespace, file string) error {
	if !ns.rested || file == "" {
		return nil
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: its file was removed while the server runs", fault.ErrUnavailable)
	}
	return nil
}

// measured returns the counts of a namespace since the server has started; ok is false if it
// was never open.
func (ns *namespace) measured() (d metrics.Database, ok bool) {
	ns.counts.Lock()
	defer ns.counts.Unlock()
	db := ns.db.Load()
	if db == nil {
		return ns.past, ns.past.Namespace != ""
	}
	d = countsOf(ns.name, db)
	d.Failing, d.Open = db.Failing(), true
	return ns.past.Plus(d), true
}

// countsOf returns what a database has counted since it was opened.
func countsOf(namespace string, db *dsync.Database) metrics.Database {
	return metrics.Database{Namespace: namespace, Stats: db.Stats(), Timings: db.Timings()}
}

// dropped returns the counts of databases that were dropped.
func (n *namespaces) dropped() metrics.Database {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.past
}

// totals returns the counts of all databases together since the server has started.
func (s *Server) totals() (dsync.Stats, dsync.Timings) {
	all := metrics.Source{Dropped: s.spaces.dropped()}
	for _, ns := range s.spaces.all() {
		if d, ok := ns.measured(); ok {
			all.Databases = append(all.Databases, d)
		}
	}
	return all.Sum()
}
