package audience

import (
	"math"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/tree"
)

// A write has the grants decided again that read what it touches. Up to ReviewAtOnce of
// them are decided with the write. If there are more, or they take long, they are stale from then on:
// listeners with a stale grant get no events, and their views are read again when it is
// decided. The committer decides stale grants a slice at a time, between batches.

const (
	// ReviewAtOnce is how many grants are decided with a write, or in a slice.
	ReviewAtOnce = 256
	// reviewTime ends a slice early whose rules take long.
	reviewTime = 2 * time.Millisecond
	// reviewCost is what a decision about a listener counts, in addition to what its rules spend as in
	// rules.Budget. All that are made with a write may spend as much as ReviewAtOnce cheap ones. Each
	// has a budget of its own, since one that runs out of it ends the listen.
	reviewCost = 16 << 10
	// maxReviewed is how many places that rules read, below what is written, are compared
	// with what was there. Of more, and of values of more than reviewedBytes, it is as if
	// all had changed.
	maxReviewed   = 64
	reviewedBytes = 1 << 10
	// reviewBelow is how many places that rules read are looked for below all that a task writes.
	// If there are more, all grants are stale that have read something below.
	reviewBelow = 1024
)

// A reviewing is what one write touches that grants have read.
//
// It is filled before the write is made, since a decision need not be repeated
// if what it read is the same afterwards. Only small values are compared; for
// others it is assumed that they have changed.
type reviewing struct {
	changed  []*dependents // on what is at the place of the write, or above it
	compared []lookedAt    // those for which the write may have changed nothing
	swept    []tree.Path   // below these is more
}

// A lookedAt is a place that grants have read, with what was there before a write.
type lookedAt struct {
	*dependents
	before tree.Node // or true if grants depend on whether anything is there, and something is
	known  bool      // it is small
}

// reviewing finds what writes touch, before they are made.
func (b *Batch) reviewing(writes []tree.ResolvedWrite) (r reviewing) {
	if b.grants.none() {
		return r
	}
	var found map[*dependents]bool // by one of several writes
	if len(writes) > 1 {
		found = make(map[*dependents]bool)
	}
	isNew := func(d *dependents) bool {
		if found == nil {
			return true
		}
		is := !found[d]
		found[d] = true
		return is
	}
	compare := func(d *dependents) {
		if isNew(d) {
			r.compared = append(r.compared, lookedAt{dependents: d})
		}
	}
	left := b.ReviewBelow
	if b.Apart {
		left = math.MaxInt
	}
	for _, w := range writes {
		for d := range b.grants.dependents.Above(w.Path) {
			if isNew(d) {
				r.changed = append(r.changed, d)
			}
		}
		for d := range b.grants.existing.Above(w.Path) {
			compare(d)
		}
		for d := range b.grants.below(w.Path) {
			if left--; left < 0 {
				r.swept = append(r.swept, w.Path)
				break
			}
			compare(d)
		}
	}
	if len(r.compared) <= maxReviewed {
		for i := range r.compared {
			at := &r.compared[i]
			at.before, at.known = b.look(at.dependents)
		}
	}
	return r
}

// look returns what grants depend on, if that is small.
func (b *Batch) look(d *dependents) (n tree.Node, known bool) {
	if d.in == &b.grants.existing {
		exists, err := b.Tx.Has(d.path)
		return tree.Bool(exists), err == nil
	}
	n, err := b.Tx.GetLimit(d.path, reviewedBytes)
	return n, err == nil
}

// isChanged reports whether something else may be there now.
func (b *Batch) isChanged(at lookedAt) bool {
	if !at.known {
		return true
	}
	n, known := b.look(at.dependents)
	return !known || n != at.before
}

// review decides again about the listens whose permission writes of this batch may have
// changed. Listeners that lose it get no event of these writes or of later ones.
//
// The bound keeps a write that touches what very many grants read (such as a list of
// roles) from being as slow as all of them. Stale listeners are sent nothing in the
// meantime, so no one sees what they may no longer see, and what they miss comes as a
// whole view.
func (b *Batch) review(r reviewing) {
	for _, p := range r.swept {
		b.grants.sweep(p)
	}
	touched := r.changed
	for _, at := range r.compared {
		if b.isChanged(at) {
			touched = append(touched, at.dependents)
		}
	}
	count := 0
	for _, d := range touched {
		count += d.len()
	}
	if count > b.Audience.ReviewAtOnce && !b.Apart || !b.reviewAll(touched) {
		for _, d := range touched {
			b.grants.makeStale(d)
		}
	}
}

// reviewAll decides grants again, and reports whether it was done with all of them before they
// had spent much.
func (b *Batch) reviewAll(touched []*dependents) bool {
	spent := 0
	for g := range grantsOf(touched) {
		if spent > b.mostSpent() {
			return false
		}
		spent += b.reviewGrant(g)
	}
	return true
}

// mostSpent returns what decisions may spend that others wait for. None wait for a draft.
func (b *Batch) mostSpent() int {
	if b.Apart {
		return math.MaxInt
	}
	return b.Audience.ReviewAtOnce * reviewCost
}

// pushWhole has listeners whose grant was stale sent a whole view, and not the events of this
// batch: they may be of writes at which the grant was not good.
func (b *Batch) pushWhole(listeners []*Listener) {
	if len(b.events) == 0 {
		return
	}
	for _, l := range listeners {
		l.out.PushWhole(&l.shown)
	}
}

// Enforce decides again about all listens, for new rules that are in force for the tasks that
// follow, and ends those that show more than the rules allow.
func (b *Batch) Enforce(rs *rules.Ruleset) error {
	b.Rules = rs
	b.redecide(b.hub.all(), make(rulings))
	return b.boundGroups()
}

// reviewGrant decides a grant again, for one of its listeners if they are still equal to
// the rules. If they are not, and many, it is stale for those that are left. It returns what
// that spent.
func (b *Batch) reviewGrant(g *grant) (spent int) {
	if len(g.listeners) == 0 {
		return 0 // dissolved since it was found
	}
	stale := b.grants.isStale(g)
	var reads rules.Reads
	var budget rules.Budget
	err := b.decideListen(b.Ctx, access.State{Rules: b.Rules, Data: b.Tx, Reads: &reads, Budget: &budget}, g.listeners[0].read)
	if err != nil || !g.covers(reads) {
		known := make(rulings)
		known.add(g.listeners[0].read, &ruling{reads, err})
		return budget.Spent() + b.splitGrant(g, known, stale)
	}
	if stale {
		b.pushWhole(g.listeners)
	}
	b.Undo = append(b.Undo, b.grants.restoring(g.listeners[:1]))
	b.grants.depend(g, reads)
	return budget.Spent() + reviewCost
}

// splitGrant decides about the listeners of a grant that are no longer equal to the rules, one by
// one. It returns what that spent.
func (b *Batch) splitGrant(g *grant, known rulings, stale bool) (spent int) {
	b.grants.byKey.remove(g) // some may get another one with the same key
	for len(g.listeners) > 0 {
		if spent > b.mostSpent() {
			b.grants.markStale(g)
			break
		}
		one := g.listeners[:1:1]
		if stale {
			b.pushWhole(one)
		}
		spent += b.redecide(one, known)
	}
	return spent
}

// redecide decides about listeners as if they had just come. known are rulings that were
// made in the same state. It returns what that spent.
func (b *Batch) redecide(listeners []*Listener, known rulings) (spent int) {
	b.Undo = append(b.Undo, b.grants.restoring(listeners))
	listeners = slices.Clone(listeners)
	for _, l := range listeners {
		b.grants.leave(l)
	}
	open := make([]*candidate, 0, min(len(listeners), decideAtOnce))
	for some := range slices.Chunk(listeners, decideAtOnce) {
		open = open[:0]
		for _, l := range some {
			if !l.revoked {
				open = append(open, &candidate{listener: l, read: l.read})
			}
		}
		open = b.admitKnown(open, b.regrant)
		_, took := b.decideOn(b.Ctx, b.Rules, b.Tx, open, known, math.MaxInt)
		b.admitDecided(open, always, b.regrant)
		spent += took + len(some)*reviewCost
	}
	return spent
}

// regrant is the admission of a listener whose permission a batch may have changed.
func (b *Batch) regrant(l *Listener, g *grant, err error) {
	switch {
	case err != nil:
		l.revoked = true
		b.revoked = append(b.revoked, revocation{l, err})
	case g != nil:
		g.join(l)
	}
}

// ReviewSlice decides a slice of the stale grants.
func (b *Batch) ReviewSlice() {
	began := time.Now()
	g := b.grants.nextStale()
	for n := 0; g != nil && (n == 0 || n < b.Audience.ReviewAtOnce && time.Since(began) < reviewTime); n++ {
		b.reviewGrant(g)
		g = b.grants.nextStale()
	}
}

// reviewed has the grant of a listener decided if it is stale. It returns when that is
// done.
func (l *Listener) reviewed() error {
	return l.audience.host.InTurn(l.read.Quota, 0, func(b *Batch) error {
		if g := l.grant; b.grants.isStale(g) {
			g.lead(l)
			b.reviewGrant(g)
		}
		return nil
	})
}
