// Package audience has the listeners of a database: it decides which view a caller may follow,
// and works out what a change looks like in each of them.
//
// Listeners of the same path and query are a group, which has one window and gets one event
// for each change. Listeners of the same view whose callers are equal to the rules share a
// grant, which is decided again when a write changes what the decision has read.
//
// The committer of the database drives an audience: for each [Batch] it holds the lock, makes
// a [Change] of each write, and publishes when the batch is durable, or rolls back. Everything
// that takes long, such as deciding and reading a whole view, is done by the goroutines of
// clients, without the lock.
package audience

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/sync/resume"
	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/sync/trie"
	"github.com/dogwooddb/dogwood/sync/watch"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A Host is the database that an audience belongs to.
type Host struct {
	Name    string
	Log     *slog.Logger
	MaxRead int64                     // bytes of one view
	Windows int                       // weight of the different queries at one path; 0: DefaultPathWindows
	Begin   func() (*store.Tx, error) // begins a read transaction
	Rules   func() *rules.Ruleset     // those in force
	Closed  func() bool

	// InTurn has the committer call f, in the turn of a quota, and returns when the batch is
	// committed. cost is an estimate; 0: that of any task.
	InTurn func(q *quota.Quota, cost time.Duration, f func(*Batch) error) error

	LogID   uint64          // random id of the database in its log; 0: it has none
	History *resume.History // of the log; nil: there is none

	Access   *access.Access
	Watchers *trace.Watchers
	Sent     *outbox.Counts // of what outboxes could not keep
}

// An Audience is the listeners of a database, and the decisions that let them listen. A
// draft has a copy of a part of it.
//
// Its lock guards all of it, and what listeners know. The committer holds it while a batch is
// applied, committed and published, so that whoever holds it sees listeners that agree with
// the last commit. Lock order: the audience, then an outbox; nobody who holds another lock of
// a database takes that of the audience.
//
// One lock for all of it was chosen over finer ones: a commit changes groups, windows and
// grants together, and a listener that attaches must see them agree. Work that takes long
// is done outside, on snapshots: deciding (decide.go), reading the first window
// (view.go) and reading views.
type Audience struct {
	sync.Mutex
	host     *Host
	revision atomic.Uint64 // of the last commit whose events were queued
	deciders *limit.Share  // with whom listens of outboxes without an Allowance take turns to be decided
	watches  watch.Set     // of large writes, and of decisions

	hub    hub
	grants grants

	PublishRows  int // MaxPublishRows, but in tests
	ReviewAtOnce int // ReviewAtOnce, but in tests
	ReviewBelow  int // reviewBelow, but in tests
}

// New returns the audience of a host, which is empty.
func New(h *Host) *Audience {
	a := &Audience{host: h, watches: make(watch.Set), deciders: outbox.NewReaders().All(), PublishRows: MaxPublishRows, ReviewAtOnce: ReviewAtOnce, ReviewBelow: reviewBelow}
	a.hub.indexFrom, a.hub.maxWeight = IndexFrom, cmp.Or(h.Windows, DefaultPathWindows)
	return a
}

// Empty returns an audience of the same host without members.
func (a *Audience) Empty() *Audience {
	empty := &Audience{host: a.host, PublishRows: a.PublishRows, ReviewAtOnce: a.ReviewAtOnce, ReviewBelow: a.ReviewBelow}
	empty.hub.indexFrom, empty.hub.maxWeight = a.hub.indexFrom, a.hub.maxWeight
	return empty
}

// Begin says which revision the database has when it is opened.
func (a *Audience) Begin(revision uint64) { a.revision.Store(revision) }

// SetIndexFrom changes IndexFrom for a test, before there are listeners.
func (a *Audience) SetIndexFrom(groups int) { a.hub.indexFrom = groups }

// Listeners returns how many listen. It needs no lock.
func (a *Audience) Listeners() int { return int(a.hub.listeners.Load()) }

// IsStale reports whether some listeners have to be decided again before they are sent
// anything. The lock is held.
func (a *Audience) IsStale() bool { return a.grants.someStale() }

// Check verifies that windows agree with the last commit, which tx sees, that the indexes of
// groups agree with them, and that nothing is kept of watches and listeners that have ended. The lock is held, or nobody else uses the
// audience.
func (a *Audience) Check(tx *store.Tx) error {
	for at := range a.hub.paths.All() {
		if err := at.check(); err != nil {
			return err
		}
	}
	for g := range a.hub.All() {
		if !g.live || g.query.Limit == 0 {
			continue
		}
		want, err := tx.Query(g.path, g.query)
		if err != nil {
			return err
		}
		if !slices.EqualFunc(g.window, want, func(a, b tree.Entry) bool { return g.query.Compare(a, b) == 0 }) {
			return fmt.Errorf("the window of %s at %s is\n\t%v\nwant\n\t%v", g.id, g.path, g.window, want)
		}
		if n := quota.WindowUnits(g.window); g.units != n {
			return fmt.Errorf("the window of %s at %s counts for %d, want %d", g.id, g.path, g.units, n)
		}
	}
	if n := len(a.watches); n > 0 {
		return fmt.Errorf("%d watches are left", n)
	}
	if n := a.Listeners(); n > 0 {
		return nil
	}
	w := a.hub.windows
	if !a.hub.None() || !a.grants.none() || a.grants.first != nil || a.grants.byKey.size+len(w.followed)+len(w.weights) > 0 {
		return fmt.Errorf("without listeners there are groups (%t), %d grants, dependents (%t), %d and %d counts of windows", !a.hub.None(), a.grants.byKey.size, !a.grants.none(), len(w.followed), len(w.weights))
	}
	return nil
}

// HasAbove reports whether anybody listens to a view above p, but not of p.
func (a *Audience) HasAbove(p tree.Path) bool {
	a.Lock()
	defer a.Unlock()
	for g := range a.hub.Above(p) {
		if g.path != p {
			return true
		}
	}
	return false
}

// snapshot calls f with a read transaction.
func (a *Audience) snapshot(f func(*store.Tx) error) error {
	tx, err := a.host.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return f(tx)
}

// MaxTouching bounds the copy of an audience, which is made under the lock:
// places, with the keys of their paths, groups, listeners, and grants with the places
// that they depend on.
const MaxTouching = 2048

// Touching returns a copy of the part of an audience that an update may concern: as much
// of it as is within MaxTouching. all reports whether that is everything.
func (a *Audience) Touching(u tree.Update) (part *Audience, all bool) {
	c := copier{from: a, to: a.Empty(), left: MaxTouching, listeners: make(map[*Listener]*Listener)}
	c.to.grants.serial = a.grants.serial
	for _, w := range u {
		if !c.place(w.Path) {
			return c.to, false
		}
	}
	return c.to, true
}

// A copier copies a part of an audience. Its methods return false when it has copied as
// much as it may. The copy is for explanations: it is made under the lock, so it is
// bounded, and what is beyond the bound is reported as missing.
type copier struct {
	from, to  *Audience
	left      int
	listeners map[*Listener]*Listener // copies
	groups    map[*group]bool         // that were copied
	grants    map[*grant]bool
}

func (c *copier) take(n int) bool {
	c.left -= n
	return c.left >= 0
}

// place copies what a write at a path may concern.
func (c *copier) place(p tree.Path) bool {
	if !c.take(1 + p.Len()) {
		return false
	}
	for g := range c.from.hub.Above(p) {
		if !c.group(g) {
			return false
		}
	}
	for g := range c.from.hub.Below(p) {
		if !c.group(g) {
			return false
		}
	}
	for _, t := range []*trie.Trie[*dependents]{&c.from.grants.dependents, &c.from.grants.existing} {
		for d := range t.Above(p) {
			if !c.dependents(d) {
				return false
			}
		}
		for d := range t.Below(p) {
			if !c.dependents(d) {
				return false
			}
		}
	}
	return true
}

func (c *copier) group(g *group) bool {
	switch {
	case c.groups[g]:
		return true
	case !c.take(1):
		return false
	case c.groups == nil:
		c.groups = make(map[*group]bool)
	}
	c.groups[g] = true
	own := &group{path: g.path, query: g.query, id: g.id, weight: g.weight, live: g.live, window: g.window}
	c.to.hub.at(g.path).add(own)
	for _, l := range g.listeners {
		listener := c.listener(l)
		if listener == nil {
			return false
		}
		listener.group = own
		own.listeners = append(own.listeners, listener)
		c.to.hub.listeners.Add(1)
	}
	return true
}

func (c *copier) dependents(d *dependents) bool {
	for _, some := range []map[*grant]struct{}{d.grants, d.stale} {
		for g := range some {
			if !c.grant(g) {
				return false
			}
		}
	}
	return true
}

func (c *copier) grant(g *grant) bool {
	switch {
	case c.grants[g]:
		return true
	case !c.take(1 + len(g.reads.Paths)):
		return false
	case c.grants == nil:
		c.grants = make(map[*grant]bool)
	}
	c.grants[g] = true
	own := &grant{key: g.key}
	c.to.grants.byKey.put(own)
	c.to.grants.depend(own, g.reads)
	for _, l := range g.listeners {
		listener := c.listener(l)
		if listener == nil {
			return false
		}
		own.join(listener)
	}
	return true
}

// listener returns the copy of a listener, nil if there may be no more. Nothing is sent
// to it.
func (c *copier) listener(l *Listener) *Listener {
	if own := c.listeners[l]; own != nil {
		return own
	}
	if !c.take(1) {
		return nil
	}
	own := &Listener{audience: l.audience, read: l.read, weight: l.weight}
	c.listeners[l] = own
	return own
}

// WatchedSnapshot begins a read transaction, and to watch what is written after it.
func (a *Audience) WatchedSnapshot() (*store.Tx, *watch.Watch, error) {
	a.Lock()
	defer a.Unlock()
	return a.watched()
}

// watched is WatchedSnapshot with the lock held.
func (a *Audience) watched() (*store.Tx, *watch.Watch, error) {
	tx, err := a.host.Begin()
	if err != nil {
		return nil, nil, err
	}
	return tx, a.watches.Begin(), nil
}

// Settle says what a decision has read that is watched.
func (a *Audience) Settle(w *watch.Watch, reads []tree.Path) {
	a.Lock()
	defer a.Unlock()
	w.Settle(reads)
}

// Unwatch ends a watch.
func (a *Audience) Unwatch(w *watch.Watch) {
	a.Lock()
	defer a.Unlock()
	a.watches.End(w)
}
