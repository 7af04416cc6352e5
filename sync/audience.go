package sync

import (
	"sync"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/tree"
)

// An audience is the listeners of a database, the decisions that let them listen, and
// what conditions know of the values that writes change. A draft has a copy of a part of it.
type audience struct {
	db       *Database    // nil of a copy
	deciders *limit.Share // with whom listens of outboxes without an Allowance take turns to be decided

	// mu guards the rest, and what listeners know. The committer holds it while a batch is
	// applied, committed and published, so that whoever holds it sees listeners that agree
	// with the last commit. Lock order: mu, then that of an outbox; nobody who holds another
	// lock of this package takes mu.
	mu      sync.Mutex
	watches map[*watch]struct{} // of large writes, and of decisions

	hub    hub
	grants grants
	hashes hashes
}

// maxTouching bounds the copy of an audience, which is made under the database's mu:
// places, with the keys of their paths, groups, listeners, and grants with the places
// that they depend on.
const maxTouching = 2048

// touching returns a copy of the part of an audience that an update may concern: as much
// of it as is within maxTouching. all reports whether that is everything.
func (a *audience) touching(u tree.Update) (part *audience, all bool) {
	c := copier{from: a, to: new(audience), left: maxTouching, listeners: make(map[*Listener]*Listener)}
	c.to.grants.serial = a.grants.serial
	for _, w := range u {
		if !c.place(w.Path) {
			return c.to, false
		}
	}
	return c.to, true
}

// A copier copies a part of an audience. Its methods return false when it has copied as
// much as it may.
type copier struct {
	from, to  *audience
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
	for g := range c.from.hub.above(p) {
		if !c.group(g) {
			return false
		}
	}
	for g := range c.from.hub.below(p) {
		if !c.group(g) {
			return false
		}
	}
	for _, t := range []*trie[*dependents]{&c.from.grants.dependents, &c.from.grants.existing} {
		for d := range t.above(p) {
			if !c.dependents(d) {
				return false
			}
		}
		for d := range t.below(p) {
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
	c.to.hub.trie.add(g.path, own)
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
		c.to.grants.byKey = make(map[grantKey]*grant)
	}
	c.grants[g] = true
	own := &grant{key: g.key}
	c.to.grants.byKey[g.key] = own
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
	own := &Listener{db: l.db, read: l.read, weight: l.weight}
	c.listeners[l] = own
	return own
}
