package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/server/dropped"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/space"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/durable"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// errForeignLog refuses a data directory whose log is that of another one.
var errForeignLog = errors.New("the log belongs to another data directory: put the log of this one back, or move it away")

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
// into the files. Records of databases whose files are missing, or cannot be opened, are taken
// out of the log and kept, but for what is in the files that restores have replaced.
//
// It comes before the first request. Otherwise a database that was never asked for again would
// hold its records in the log, and with them all segments behind.
func (n *namespaces) recover() error {
	if n.log == nil {
		return nil
	}
	if !n.log.ReadOnly() {
		if err := dropped.Settle(n.opts.Dir, n.log); err != nil {
			n.opts.Log.Error("files of dropped databases cannot be read", "dir", n.opts.Dir, "err", err)
		}
	}
	if n.log.Pending() {
		if err := n.takeUp(); err != nil {
			return err
		}
	}
	if !n.log.ReadOnly() {
		n.limitKept()
	}
	return nil
}

// takeUp opens the databases that need the log.
func (n *namespaces) takeUp() error {
	places, err := n.places()
	if err != nil {
		return err
	}
	for name, place := range places {
		if !place.Needs {
			continue
		}
		if _, err := n.database(name); err != nil {
			n.opts.Log.Error("a database could not be brought up to date from the log, which keeps its last commits",
				"namespace", name, "database", fmt.Sprintf("%016x", place.Database), "err", err)
		}
	}
	if n.log.ReadOnly() {
		return nil
	}
	for _, place := range slices.AppendSeq(replacedPlaces(n.opts.Dir, places), maps.Values(places)) {
		if err := n.log.Release(place); err != nil {
			return err
		}
	}
	if err := n.log.Keep(); err != nil { // then the records stay where they are
		n.opts.Log.Error("the log holds segments for databases that are not there", "err", err)
	}
	return nil
}

// places returns how the files of the data directory and the log belong together, by
// namespace. It refuses a log that has commits and of whose databases none is there, if there
// are some that need another log. To go on with a foreign log would make the files of this
// directory look as if they had lost their last commits.
func (n *namespaces) places() (map[string]logged.Place, error) {
	names, err := savedNamespaces(n.opts)
	if err != nil {
		return nil, err
	}
	places := make(map[string]logged.Place)
	ours, lacking := 0, 0
	for _, name := range names {
		file := filepath.Join(n.opts.Dir, name+fileSuffix)
		place, err := store.PlaceInLog(file)
		switch {
		case err != nil:
			n.opts.Log.Error("a database cannot be read", "namespace", name, "err", err)
			ours++ // perhaps
			continue
		case place.Log == n.log.Owner():
			ours++
		case store.LacksLog(file, place):
			lacking++
		}
		places[name] = place
	}
	if ours == 0 && lacking > 0 {
		return nil, fmt.Errorf("%s: %w", store.LogDir(n.opts.Dir), errForeignLog)
	}
	return places, nil
}

// replacedPlaces returns the places of files that a restore has replaced. Copies of those that are in
// use, which may have been put back, are left out, and so is what cannot be read: damage may be why
// there was a restore.
func replacedPlaces(dir string, inUse map[string]logged.Place) (places []logged.Place) {
	known := make(map[uint64]bool)
	for _, place := range inUse {
		known[place.Database] = true
	}
	entries, _ := os.ReadDir(dir) // it was read before
	for _, e := range entries {
		if !strings.Contains(e.Name(), fileSuffix+store.KeptSuffix) {
			continue
		}
		if place, err := store.PeekInLog(filepath.Join(dir, e.Name())); err == nil && !known[place.Database] {
			places = append(places, place)
		}
	}
	return places
}

// limitKept gives up what was kept for too long, and says what is kept.
func (n *namespaces) limitKept() {
	tell := func(level slog.Level, text string, k logged.Kept) {
		n.opts.Log.Log(context.Background(), level, text, "database", fmt.Sprintf("%016x", k.Database), "file", k.Name(), "since", k.Since, "until", k.Until())
	}
	kept, givenUp, err := n.log.LimitKept(n.opts.Now())
	for _, k := range givenUp {
		tell(slog.LevelError, "the last commits of a database were given up, since its file did not come back", k)
	}
	for _, k := range kept {
		tell(slog.LevelWarn, "the last commits of a database are kept in the directory of the log, until its file comes back", k)
	}
	if err != nil {
		n.opts.Log.Error("the kept commits of databases cannot be read", "err", err)
	}
}

// closeLog closes the log, behind the databases.
func (n *namespaces) closeLog() error {
	if n.log == nil {
		return nil
	}
	return n.log.Close()
}

// disks returns how much room the disks have.
func (n *namespaces) disks() []space.Disk {
	if n.room == nil {
		return nil
	}
	return n.room.Disks()
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
