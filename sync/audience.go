package sync

import (
	"iter"
	"sync"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/sync/trie"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
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
	c.to.hub.Add(g.path, own)
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

// A watch tells whether something was written, since a snapshot, that a decision on this
// snapshot has read. The committer tells it what is written; the database's mu guards it.
type watch struct {
	written []tree.Path // until it is known what was read
	settled bool
	reads   []tree.Path // afterwards
	changed bool
}

// Bounds of a watch. Beyond maxWritten it is as if something had changed; of more than
// maxNoted paths that were read, those above them are noted. Beyond maxMeets comparisons of
// one with the other, it is also as if something had changed.
const (
	maxWritten = 16 << 10
	maxNoted   = 64
	maxMeets   = 64 << 10
)

// watchedSnapshot begins a read transaction, and to watch what is written after it.
func (a *audience) watchedSnapshot() (*store.Tx, *watch, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.watched()
}

// watched is watchedSnapshot with d.mu held.
func (a *audience) watched() (*store.Tx, *watch, error) {
	tx, err := a.db.begin()
	if err != nil {
		return nil, nil, err
	}
	w := new(watch)
	a.watches[w] = struct{}{}
	return tx, w, nil
}

// settle says what was read.
func (a *audience) settle(w *watch, reads []tree.Path) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.settled, w.reads = true, reads
	for _, p := range w.written {
		w.changed = w.changed || w.depends(p)
	}
	w.written = nil
}

func (a *audience) unwatch(w *watch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.watches, w)
}

// depends reports whether a write at p may change what was read.
func (w *watch) depends(p tree.Path) bool {
	for _, r := range w.reads {
		if r.Contains(p) || p.Contains(r) {
			return true
		}
	}
	return false
}

// meets reports whether anything that was written since the snapshot may change what was
// read. It takes for changed what would take long to compare.
func (w *watch) meets(reads []tree.Path) bool {
	if w.changed || len(w.written)*len(reads) > maxMeets {
		return true
	}
	for _, p := range w.written {
		for _, r := range reads {
			if r.Contains(p) || p.Contains(r) {
				return true
			}
		}
	}
	return false
}

// touch tells those who watch what is written. That a batch may not be committed does
// not matter: then a decision is made once more.
func (b *batch) touch(writes []tree.ResolvedWrite) {
	for w := range b.db.watches {
		for i := 0; i < len(writes) && !w.changed; i++ {
			switch p := writes[i].Path; {
			case w.settled:
				w.changed = w.depends(p)
			case len(w.written) == maxWritten:
				w.changed, w.written = true, nil
			default:
				w.written = append(w.written, p)
			}
		}
	}
}

// A notingReader notes what is read.
type notingReader struct {
	tree.Reader
	noted map[tree.Path]struct{}
	depth int // of the paths that are noted at most; 0: any
}

func (r *notingReader) note(p tree.Path) {
	if r.noted == nil {
		r.noted = make(map[tree.Path]struct{})
		r.depth = tree.MaxDepth
	}
	r.noted[above(p, r.depth)] = struct{}{}
	for len(r.noted) > maxNoted {
		r.depth--
		fewer := make(map[tree.Path]struct{})
		for p := range r.noted {
			fewer[above(p, r.depth)] = struct{}{}
		}
		r.noted = fewer
	}
}

// above returns the path of at most depth keys at or above p.
func above(p tree.Path, depth int) tree.Path {
	for p.Len() > depth {
		p, _ = p.Parent()
	}
	return p
}

// paths returns what was read, or what is above it.
func (r *notingReader) paths() (list []tree.Path) {
	for p := range r.noted {
		list = append(list, p)
	}
	return list
}

// The methods below are those of a tree.Reader.

func (r *notingReader) Get(p tree.Path) (tree.Node, error) {
	r.note(p)
	return r.Reader.Get(p)
}

func (r *notingReader) Has(p tree.Path) (bool, error) {
	r.note(p)
	return r.Reader.Has(p)
}

func (r *notingReader) Peek(p tree.Path) (tree.Node, bool, error) {
	r.note(p)
	return r.Reader.Peek(p)
}

func (r *notingReader) Priority(p tree.Path) (tree.Node, error) {
	r.note(p)
	return r.Reader.Priority(p)
}

func (r *notingReader) Keys(p tree.Path) iter.Seq2[string, error] {
	r.note(p)
	return r.Reader.Keys(p)
}
