package audience

import (
	"iter"
	"maps"
	"slices"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/trie"
	"github.com/dogwooddb/dogwood/tree"
)

// A grant is one decision of the rules that lets listeners follow a view. All
// listeners of the same view whose callers are equal to the rules share it. A
// grant is true as of the last commit, since a write that changes what it
// depends on has it decided again, so a new listener may join it undecided.
//
// That listeners share it is what makes permissions that follow the data
// affordable: a write which touches what the rules read costs a decision for
// each class of callers and not for each listener.
type grant struct {
	key       grantKey
	next      *grant // with the same hash of its key
	listeners []*Listener
	reads     rules.Reads   // what it depends on
	among     []*dependents // of each of its paths
	aging
}

// A grantKey says what a decision is about.
type grantKey struct {
	path  tree.Path
	query tree.Query
	plain bool
	class class
}

// A class is what callers have in common that are equal to a decision. A rule
// that looks at nothing of the caller has one class for all; one that looks at
// auth as a whole has one for each identity.
type class struct {
	use    rules.AuthUse
	auth   string // what was looked at
	serial uint64 // unlike any other: the decision also depends on the time
}

// classOf returns the class of a caller for decisions that look at it in the
// given way.
func classOf(a rules.Auth, use rules.AuthUse) class {
	c := class{use: use}
	switch use {
	case rules.AuthNull:
		if !a.IsNull() {
			c.auth = "someone"
		}
	case rules.AuthFull:
		c.auth = a.JSON
	}
	return c
}

func keyOf(r access.Read, c class) grantKey {
	return grantKey{path: r.Path, query: r.Query, plain: r.Plain, class: c}
}

// Grants are all grants of a database. The lock of the audience guards them.
type grants struct {
	byKey      grantTable
	dependents trie.Trie[*dependents] // on what is at a place
	existing   trie.Trie[*dependents] // on whether anything is there
	serial     uint64
	stale      []*dependents // those that had stale grants
	sweeps
}

// Dependents are the grants that looked at one path.
//
// A grant is in one of two maps: grants are good, stale ones have to be decided
// again. To make all of them stale mostly takes one assignment, so the write
// that does so is not delayed by their number.
type dependents struct {
	in     *trie.Trie[*dependents]
	path   tree.Path
	grants map[*grant]struct{}
	stale  map[*grant]struct{} // those that have to be decided again
	listed bool                // in grants.stale
}

// dependOn adds a grant to the dependents on a path.
func dependOn(in *trie.Trie[*dependents], p tree.Path, g *grant) *dependents {
	n := in.At(p)
	if len(n.Items) == 0 {
		n.Items = append(n.Items, &dependents{in: in, path: p})
	}
	d := n.Items[0]
	if d.grants == nil {
		d.grants = make(map[*grant]struct{})
	}
	d.grants[g] = struct{}{}
	return d
}

func (d *dependents) len() int { return len(d.grants) + len(d.stale) }

// below yields the dependents on what is below p.
func (t *grants) below(p tree.Path) iter.Seq[*dependents] {
	return func(yield func(*dependents) bool) {
		for _, in := range []*trie.Trie[*dependents]{&t.dependents, &t.existing} {
			for d := range in.Below(p) {
				if !yield(d) {
					return
				}
			}
		}
	}
}

// none reports whether no grant depends on anything.
func (t *grants) none() bool {
	return t.dependents.None() && t.existing.None()
}

// makeStale has the grants of d decided again, later. It need not be undone: they are
// decided in the state that there is then. What it costs does not depend on their number,
// unless they were decided since d was stale.
func (t *grants) makeStale(d *dependents) {
	if len(d.stale) == 0 {
		d.grants, d.stale = nil, d.grants
	} else {
		maps.Copy(d.stale, d.grants)
		d.grants = nil
	}
	t.list(d)
}

func (t *grants) list(d *dependents) {
	if !d.listed {
		d.listed = true
		t.stale = append(t.stale, d)
	}
}

// isStale reports whether a grant has to be decided again before anything is sent to its
// listeners. nil is that of an administrator.
func (t *grants) isStale(g *grant) bool {
	if g == nil || !t.someStale() {
		return false
	}
	for _, d := range g.among {
		if _, stale := d.stale[g]; stale {
			return true
		}
	}
	return t.isSwept(g)
}

// someStale reports whether grants may be stale.
func (t *grants) someStale() bool { return len(t.stale) > 0 || t.isSweeping() }

// nextStale returns a stale grant, or nil if there is none, or it has not come to it yet.
func (t *grants) nextStale() *grant {
	for len(t.stale) > 0 {
		d := t.stale[len(t.stale)-1]
		for g := range d.stale {
			return g
		}
		d.stale, d.listed = nil, false
		t.stale = t.stale[:len(t.stale)-1]
	}
	return t.nextSwept()
}

// find returns a grant that a listener may join, or nil.
func (t *grants) find(r access.Read) *grant {
	for use := rules.AuthUnused; use <= rules.AuthFull; use++ {
		if g := t.byKey.at(keyOf(r, classOf(r.Caller.Auth, use))); g != nil && !t.isStale(g) {
			return g
		}
	}
	return nil
}

// make returns the grant for a decision that was just made.
func (t *grants) make(r access.Read, reads rules.Reads) *grant {
	c := classOf(r.Caller.Auth, reads.Auth)
	if reads.Now {
		t.serial++
		c.serial = t.serial
	}
	g := &grant{key: keyOf(r, c)}
	t.byKey.put(g)
	t.depend(g, reads)
	return g
}

// covers reports whether a decision that looked at reads, for one caller of the
// grant, is that for all of them, and for those that join later.
func (g *grant) covers(reads rules.Reads) bool {
	c := g.key.class
	return reads.Auth <= c.use && (!reads.Now || c.serial != 0)
}

// join makes a listener one of the grant's.
func (g *grant) join(l *Listener) {
	l.grant, l.grantSlot = g, len(g.listeners)
	g.listeners = append(g.listeners, l)
}

// lead makes a listener the first of the grant, which is its own.
func (g *grant) lead(l *Listener) {
	first := g.listeners[0]
	g.listeners[0], g.listeners[l.grantSlot] = l, first
	first.grantSlot, l.grantSlot = l.grantSlot, 0
}

// leave takes a listener out of its grant, if it has one, and forgets the grant
// if it was the last.
func (t *grants) leave(l *Listener) {
	g := l.grant
	if g == nil {
		return
	}
	last := len(g.listeners) - 1
	g.listeners[l.grantSlot] = g.listeners[last]
	g.listeners[l.grantSlot].grantSlot = l.grantSlot
	g.listeners[last] = nil
	g.listeners = g.listeners[:last]
	l.grant = nil
	t.drop(g)
}

// drop forgets a grant that has no listeners.
func (t *grants) drop(g *grant) {
	if len(g.listeners) > 0 {
		return
	}
	t.byKey.remove(g)
	t.depend(g, rules.Reads{})
}

// restoring returns what gives listeners the grants that they have now, with what these
// depend on, after a batch that was not committed. A batch that does not commit leaves
// the grants as they were, although its writes have had them decided again.
func (t *grants) restoring(listeners []*Listener) (undo func()) {
	type standing struct {
		listener *Listener
		grant    *grant
		reads    rules.Reads
		revoked  bool
		stale    bool
	}
	all := make([]standing, 0, len(listeners))
	for _, l := range listeners {
		s := standing{listener: l, grant: l.grant, revoked: l.revoked}
		if g := l.grant; g != nil {
			s.reads, s.stale = g.reads, t.isStale(g)
		}
		all = append(all, s)
	}
	return func() {
		for _, s := range all {
			s.listener.revoked = s.revoked
			t.leave(s.listener)
		}
		for _, s := range all {
			if s.grant != nil {
				t.restore(s.grant, s.reads, s.stale)
				s.grant.join(s.listener)
			}
		}
	}
}

// restore makes a grant what it was: one that depended on reads, and was stale or not.
func (t *grants) restore(g *grant, reads rules.Reads, stale bool) {
	if t.byKey.at(g.key) == nil {
		t.byKey.put(g)
	}
	if len(g.among) == len(reads.Paths) && slices.Equal(g.reads.Paths, reads.Paths) &&
		slices.Equal(g.reads.Exists, reads.Exists) && t.isStale(g) == stale {
		return
	}
	t.depend(g, reads)
	if stale {
		t.markStale(g)
	}
}

// markStale has one grant decided again, which depends on something.
func (t *grants) markStale(g *grant) {
	d := g.among[0]
	delete(d.grants, g)
	if d.stale == nil {
		d.stale = make(map[*grant]struct{})
	}
	d.stale[g] = struct{}{}
	t.list(d)
}

// depend notes what a grant that was just decided depends on, instead of what it did
// before.
func (t *grants) depend(g *grant, reads rules.Reads) {
	for _, d := range g.among {
		delete(d.grants, g)
		delete(d.stale, g)
		if d.len() == 0 {
			d.in.Remove(d.path, d)
		}
	}
	g.reads, g.among = reads, make([]*dependents, 0, len(reads.Paths))
	exists := reads.Exists // in the order of Paths
	for _, p := range reads.Paths {
		in := &t.dependents
		if len(exists) > 0 && exists[0] == p {
			in, exists = &t.existing, exists[1:]
		}
		g.among = append(g.among, dependOn(in, p, g))
	}
	t.renew(g)
}

// grantsOf returns the grants that depend on something.
func grantsOf(touched []*dependents) map[*grant]struct{} {
	if len(touched) == 0 {
		return nil
	}
	found := make(map[*grant]struct{})
	for _, d := range touched {
		maps.Copy(found, d.grants)
		maps.Copy(found, d.stale)
	}
	return found
}
