package server

import (
	"path/filepath"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/durable"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// Defaults of what stays in the log for readers.
const (
	DefaultKeepLogBytes = 64 << 20
	DefaultKeepLogAge   = 24 * time.Hour
	DefaultHoldLogBytes = 1 << 30
)

// openLog opens the log of the data directory. It is only read where nothing can be written.
func openLog(o Options) (*logged.Log, error) {
	if o.Dir == "" {
		return nil, nil
	}
	dir, options := store.LogDir(o.Dir), logged.LogOptions{MemoryBytes: o.MaxUnappliedBytes, Synced: o.logSyncs.Observe,
		KeepBytes: max(o.KeepLogBytes, 0), KeepAge: o.KeepLogAge, HoldBytes: o.HoldLogBytes}
	l, err := logged.OpenLog(dir, options)
	if durable.Unwritable(err) {
		options.ReadOnly = true
		l, err = logged.OpenLog(dir, options)
	}
	return l, err
}

// recover opens the databases whose last commits are in the log alone, so that they come
// into the files. Records of databases that have no file any more are given up.
func (n *namespaces) recover() error {
	if n.log == nil || !n.log.Pending() {
		return nil
	}
	names, err := savedNamespaces(n.opts)
	if err != nil {
		return err
	}
	keep, all := make(map[uint64]bool), true
	for _, name := range names {
		database, needs, err := store.InLog(filepath.Join(n.opts.Dir, name+fileSuffix))
		if needs {
			keep[database] = true
			_, err = n.database(name)
		}
		if err != nil { // whose records those in the log are is not known then
			all = false
			n.opts.Log.Error("a database could not be brought up to date from the log", "namespace", name, "err", err)
		}
	}
	if !all || n.log.ReadOnly() {
		return nil
	}
	gone, err := n.log.Forget(keep)
	if gone > 0 {
		n.opts.Log.Warn("the log had commits of databases whose files were removed or replaced: they are given up", "databases", gone)
	}
	return err
}

// closeLog closes the log, behind the databases.
func (n *namespaces) closeLog() error {
	if n.log == nil {
		return nil
	}
	return n.log.Close()
}

// measuredLog returns the figures of the log.
func (n *namespaces) measuredLog() metrics.Log {
	m := metrics.Log{Syncs: n.opts.logSyncs.Snapshot()}
	if n.log == nil {
		return m
	}
	s := n.log.Stats()
	m.Bytes, m.Segments, m.Unapplied = s.Bytes, s.Segments, s.Unapplied
	if !s.Oldest.IsZero() {
		m.Oldest = max(time.Since(s.Oldest), 0)
	}
	return m
}
