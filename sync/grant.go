package sync

import (
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

// A grant is one decision of the rules that lets listeners follow a view. All
// listeners of the same view whose callers are equal to the rules share it. A
// grant is true as of the last commit, since a write that changes what it
// depends on has it decided again, so a new listener may join it undecided.
type grant struct {
	key       grantKey
	listeners []*Listener
	reads     []tree.Path // where it is among the dependents
}

// A grantKey says what a decision is about.
type grantKey struct {
	path  tree.Path
	query tree.Query
	plain bool
	class class
}

// A class is what callers have in common that are equal to a decision.
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

func (r Read) grantKey(c class) grantKey {
	return grantKey{path: r.Path, query: r.Query, plain: r.Plain, class: c}
}

// Grants are all grants of a database. Its mu guards them.
type grants struct {
	byKey      map[grantKey]*grant
	dependents trie[*dependents]
	serial     uint64
}

// Dependents are the grants that looked at one path.
type dependents struct {
	path   tree.Path
	grants map[*grant]struct{}
}

// find returns a grant that a listener may join, or nil.
func (t *grants) find(r Read) *grant {
	for use := rules.AuthUnused; use <= rules.AuthFull; use++ {
		if g := t.byKey[r.grantKey(classOf(r.Caller.Auth, use))]; g != nil {
			return g
		}
	}
	return nil
}

// make returns the grant for a decision that was just made.
func (t *grants) make(r Read, reads rules.Reads) *grant {
	c := classOf(r.Caller.Auth, reads.Auth)
	if reads.Now {
		t.serial++
		c.serial = t.serial
	}
	g := &grant{key: r.grantKey(c)}
	if t.byKey == nil {
		t.byKey = make(map[grantKey]*grant)
	}
	t.byKey[g.key] = g
	t.depend(g, reads.Paths)
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
	if last == 0 {
		delete(t.byKey, g.key)
		t.depend(g, nil)
	}
}

// depend notes what a grant depends on, instead of what it did before.
func (t *grants) depend(g *grant, paths []tree.Path) {
	for _, p := range g.reads {
		n := t.dependents.at(p)
		d := n.items[0]
		delete(d.grants, g)
		if len(d.grants) == 0 {
			t.dependents.remove(p, d)
		}
	}
	g.reads = paths
	for _, p := range paths {
		n := t.dependents.at(p)
		if len(n.items) == 0 {
			n.items = append(n.items, &dependents{p, make(map[*grant]struct{})})
		}
		n.items[0].grants[g] = struct{}{}
	}
}

// touched returns the grants that writes may change: those that looked at a
// written place, above it or below it.
func (t *grants) touched(writes []tree.ResolvedWrite) map[*grant]struct{} {
	if len(t.dependents.root.kids) == 0 && len(t.dependents.root.items) == 0 {
		return nil
	}
	var found map[*grant]struct{}
	collect := func(d *dependents) {
		for g := range d.grants {
			if found == nil {
				found = make(map[*grant]struct{})
			}
			found[g] = struct{}{}
		}
	}
	for _, w := range writes {
		for d := range t.dependents.above(w.Path) {
			collect(d)
		}
		for d := range t.dependents.below(w.Path) {
			collect(d)
		}
	}
	return found
}
