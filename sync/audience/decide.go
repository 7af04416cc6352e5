package audience

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/queue"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// The rules are asked about listeners on a snapshot, without the lock. A watch
// tells whether anything that a decision read was written meanwhile. If not, the decision
// is true of the last commit, and takes effect under the lock.

const (
	// decideAtOnce is how many listeners are decided together.
	decideAtOnce = 64
	// decideTries is how often a listener is decided on a snapshot while others write
	// what the rules read. After that it is decided in the committer, in its turn.
	decideTries = 4
)

// A candidate is a listener about which is to be decided, and as whose.
//
// It lives for one admission. The decision is kept in ruling until it is known
// to be still true; the listener itself is only changed by the admission, under
// the lock.
type candidate struct {
	listener *Listener
	read     access.Read // of the listener, with the caller that it is to have
	ruling   *ruling
}

// A ruling is what the rules said in one state.
type ruling struct {
	reads rules.Reads
	err   error // nil: allowed
}

// An admission takes note of a decision: of the grant that the listener may join, which is
// nil for an administrator, or of the reason why it may not follow its view. the lock is held.
type admission func(l *Listener, g *grant, err error)

// admit decides about listeners of one client, at most decideAtOnce of them, and settles
// each. It returns an error if it could not decide about those that are not settled.
func (a *Audience) admit(ctx context.Context, turn *limit.Share, open []*candidate, done admission) error {
	for try := 1; len(open) > 0; try++ {
		if try > decideTries {
			return a.admitInTurn(ctx, open, done)
		}
		var err error
		if open, err = a.tryAdmit(ctx, turn, open, done); err != nil {
			return err
		}
	}
	return nil
}

// tryAdmit makes one attempt. It returns those that have to be decided again.
//
// The steps: look whether a grant of others is enough; take a place among those
// that decide; begin a snapshot and a watch in one critical section; decide
// without the lock; and take the lock to see whether anything that was read has
// been written since. A refusal needs no such check: it was true at a moment
// after the request.
func (a *Audience) tryAdmit(ctx context.Context, turn *limit.Share, open []*candidate, done admission) ([]*candidate, error) {
	if turn.Try(1) != nil { // what others have decided may be enough
		a.Lock()
		open = a.admitKnown(open, done)
		a.Unlock()
		if len(open) == 0 {
			return nil, nil
		}
		if err := turn.Acquire(ctx, 1); err != nil {
			return nil, err
		}
	}
	defer turn.Release(1)
	a.Lock()
	if open = a.admitKnown(open, done); len(open) == 0 {
		a.Unlock()
		return nil, nil
	}
	tx, w, err := a.watched()
	a.Unlock()
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	rs := a.host.Rules()
	a.decideOn(ctx, rs, tx, open, make(rulings), math.MaxInt)
	a.Lock()
	defer a.Unlock()
	a.watches.End(w)
	holds := func(read []tree.Path) bool { return a.host.Rules() == rs && !w.Meets(read) }
	return a.admitDecided(open, holds, done), nil
}

// admitKnown settles those that need no decision and returns the others. What guards the
// audience is held.
func (a *Audience) admitKnown(open []*candidate, done admission) (left []*candidate) {
	for _, c := range open {
		g := a.grants.find(c.read)
		switch {
		case c.read.Caller.Admin:
			done(c.listener, nil, nil)
		case g != nil && c.read.Caller.Trace == nil:
			done(c.listener, g, nil)
		default:
			left = append(left, c)
		}
	}
	return left
}

// decideOn decides in the state of tx. Candidates that are equal to the rules share a
// ruling; known are those that were made in the same state. It returns how many it decided
// about, and what the rules spent: it ends once that is more than most.
func (a *Audience) decideOn(ctx context.Context, rs *rules.Ruleset, tx *store.Tx, open []*candidate, known rulings, most int) (n, spent int) {
	for ; n < len(open) && spent <= most; n++ {
		c := open[n]
		if c.ruling = known.find(c.read); c.ruling != nil && c.read.Caller.Trace == nil {
			continue
		}
		var budget rules.Budget
		c.ruling = new(ruling)
		c.ruling.err = a.decideListen(ctx, access.State{Rules: rs, Data: tx, Reads: &c.ruling.reads, Budget: &budget}, c.read)
		spent += budget.Spent()
		c.read.Caller.Trace = nil // it has been told
		known.add(c.read, c.ruling)
	}
	return n, spent
}

// admitDecided settles those that were refused, and those that were allowed if what the
// rules read holds. It returns the others. What guards the audience is held.
func (a *Audience) admitDecided(open []*candidate, holds func([]tree.Path) bool, done admission) (left []*candidate) {
	for _, c := range open {
		if c.ruling.err != nil {
			done(c.listener, nil, c.ruling.err)
			continue
		}
		g := a.grants.find(c.read)
		if g == nil {
			if !holds(c.ruling.reads.Paths) {
				left = append(left, c)
				continue
			}
			g = a.grants.make(c.read, c.ruling.reads)
		}
		done(c.listener, g, nil)
		a.grants.drop(g)
	}
	return left
}

// admitInTurn has the committer decide about listeners, so that others cannot hold them
// up by writing what the rules read. It is one task in the turn of the client, or several if
// the rules take long. It decides under the rules that the batch leaves in force: those of a
// later task are not in force for the database yet, and the task has not looked at these
// listeners.
func (a *Audience) admitInTurn(ctx context.Context, open []*candidate, done admission) (err error) {
	for len(open) > 0 && err == nil {
		open, err = a.admitNext(ctx, open, done)
	}
	return err
}

// admitNext decides about some in one task, and returns the others.
func (a *Audience) admitNext(ctx context.Context, open []*candidate, done admission) (left []*candidate, err error) {
	var failed error
	err = a.host.InTurn(open[0].read.Quota, time.Duration(len(open))*queue.TaskCost, func(b *Batch) error {
		b.Committed = append(b.Committed, func() {
			left = a.admitKnown(open, done)
			failed = a.snapshot(func(tx *store.Tx) error {
				n, _ := a.decideOn(context.Background(), b.Rules, tx, left, make(rulings), b.mostSpent())
				a.admitDecided(left[:n], always, done)
				left = left[n:]
				return nil
			})
		})
		return nil
	})
	return left, cmp.Or(err, failed)
}

// always says of a decision in the state of the committer that it holds.
func always([]tree.Path) bool { return true }

// Rulings are those that were made in one state, shared like grants. A client
// that signs in with thousands of listens of the same kind so costs a few
// decisions.
type rulings map[grantKey]*ruling

func (f rulings) find(r access.Read) *ruling {
	for use := rules.AuthUnused; len(f) > 0 && use <= rules.AuthFull; use++ {
		if found := f[keyOf(r, classOf(r.Caller.Auth, use))]; found != nil {
			return found
		}
	}
	return nil
}

func (f rulings) add(r access.Read, made *ruling) {
	if made.err == nil && made.reads.Now {
		return // each is decided at its own time
	}
	f[keyOf(r, classOf(r.Caller.Auth, made.reads.Auth))] = made
}

// Become gives listeners of one client another caller, and ends those that the rules do
// not allow it. When it returns, all have the new caller or have ended. It decides a few
// at a time, and others write and listen in between.
func (a *Audience) Become(turn *limit.Share, listeners []*Listener, caller access.Caller) {
	for some := range slices.Chunk(listeners, decideAtOnce) {
		a.becomeSome(turn, some, caller)
	}
}

func (a *Audience) becomeSome(turn *limit.Share, listeners []*Listener, caller access.Caller) {
	open := make([]*candidate, 0, len(listeners))
	wasAdmin := false
	for _, l := range listeners {
		wasAdmin = wasAdmin || l.read.Caller.Admin
		c := &candidate{listener: l, read: l.read}
		c.read.Caller = caller
		open = append(open, c)
	}
	settled := make(map[*Listener]bool)
	change := func(l *Listener, g *grant, err error) {
		settled[l] = true
		if !l.shown.Ended() {
			l.pass(caller, g, err)
		}
	}
	err := a.admit(context.Background(), turn, open, change)
	if err == nil && wasAdmin && !caller.Admin {
		a.boundAll(turn, listeners)
	}
	if err == nil {
		return
	}
	a.Lock() // nothing can be decided, and the database is about to close
	defer a.Unlock()
	for _, l := range listeners {
		if !settled[l] {
			change(l, nil, err)
		}
	}
}

// pass gives a listener another caller with a grant, or ends it. the lock is held.
func (l *Listener) pass(caller access.Caller, g *grant, err error) {
	l.read.Caller = caller
	if err == nil && g == l.grant {
		return
	}
	l.audience.grants.leave(l)
	switch {
	case err != nil:
		l.audience.revoke(l, err)
	case g != nil:
		g.join(l)
	}
}
