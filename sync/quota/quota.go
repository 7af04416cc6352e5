// Package quota bounds the listens that several sessions have together, such as all those
// of one client address, whatever databases they are on. A nil [Quota] bounds nothing. Its
// methods may be called by several goroutines at once.
package quota

import (
	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/sync/query"
	"github.com/dogwooddb/dogwood/tree"
)

// Limits are the bounds of a Quota. A bound that is not positive does not exist.
type Limits struct {
	Listens int64        // at a time
	All     *limit.Meter // of the listens of all quotas, from which this takes its share; nil: there is none
	Windows int          // of queries at one path of one database, by their weight
}

// A Quota bounds what several sessions have together.
//
// Sessions of one client address share a Quota, and so count together, however
// many connections they use. The engine knows the Quota and not the address.
type Quota struct {
	limits  Limits
	listens *limit.Share
}

// New returns a Quota of which nothing is used.
func New(l Limits) *Quota {
	most := l.Listens
	if most <= 0 {
		most = limit.Unbounded
	}
	if l.All != nil {
		return &Quota{limits: l, listens: l.All.Share(most)}
	}
	return &Quota{limits: l, listens: limit.NewMeter(most).All()}
}

// Windows returns the bound of windows at one path, 0 if there is none.
func (q *Quota) Windows() int {
	if q == nil {
		return 0
	}
	return max(q.limits.Windows, 0)
}

// listenBytes is how much of its path, query and compiled filter a listen may have that counts once,
// and how much of a window counts as another listen.
const listenBytes = 1 << 10

// keyBytes is the memory of a key of a path, as a node of a trie, without its text, and entryBytes that of an
// entry of a window.
const (
	keyBytes   = 96
	entryBytes = 80
)

// units returns what a listen counts for: its path and query are kept in memory.
func units(p tree.Path, q tree.Query) int64 {
	size := len(p.Clean()) + keyBytes*p.Len() + len(q.OrderBy) + query.Size(q)
	for _, b := range []tree.Bound{q.Start, q.End} {
		size += len(b.Value.Text()) + len(b.Key)
	}
	return 1 + int64(size)/listenBytes
}

// Take counts one more listen, if there may be one. Otherwise the error is limit.ErrFull if all
// quotas together have as many as there may be, and else limit.ErrShare.
func (q *Quota) Take(p tree.Path, query tree.Query) error {
	if q == nil {
		return nil
	}
	err := q.listens.Try(units(p, query))
	if q.limits.All == nil && err != nil {
		return limit.ErrShare
	}
	return err
}

// WindowUnits returns what a window that is kept in memory counts for.
func WindowUnits(window []tree.Entry) int64 {
	size := 0
	for _, e := range window {
		size += entryBytes + len(e.Key) + len(e.Value.Text())
	}
	return int64(size) / listenBytes
}

// Keep counts units of windows more, or fewer, whether or not they fit.
func (q *Quota) Keep(units int64) {
	switch {
	case q == nil || units == 0:
	case units > 0:
		q.listens.Force(units)
	default:
		q.listens.Release(-units)
	}
}

// Fits reports whether so many units more are within the bound. 0 fits if no more count than there may be.
func (q *Quota) Fits(units int64) bool { return q == nil || !q.listens.Exceeds(units) }

// Give counts one listen less.
func (q *Quota) Give(p tree.Path, query tree.Query) {
	if q != nil {
		q.listens.Release(units(p, query))
	}
}
