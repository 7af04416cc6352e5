package sync

import (
	"context"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/queue"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// The rules are asked about listeners on a snapshot, without the database's mu. A watch
// tells whether anything that a decision read was written meanwhile. If not, the decision
// is true of the last commit, and takes effect under mu.

const (
	// decideAtOnce is how many listeners are decided together.
	decideAtOnce = 64
	// decideTries is how often a listener is decided on a snapshot while others write
	// what the rules read. After that it is decided in the committer, in its turn.
	decideTries = 4
)

// A candidate is a listener about which is to be decided, and as whose.
type candidate struct {
	listener *Listener
	read     Read // of the listener, with the caller that it is to have
	ruling   *ruling
}

// A ruling is what the rules said in one state.
type ruling struct {
	reads rules.Reads
	err   error // nil: allowed
}

// An admission takes note of a decision: of the grant that the listener may join, which is
// nil for an administrator, or of the reason why it may not follow its view. d.mu is held.
type admission func(l *Listener, g *grant, err error)

// admit decides about listeners of one client, at most decideAtOnce of them, and settles
// each. It returns an error if it could not decide about those that are not settled.
func (a *audience) admit(ctx context.Context, turn *limit.Share, open []*candidate, done admission) error {
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
func (a *audience) tryAdmit(ctx context.Context, turn *limit.Share, open []*candidate, done admission) ([]*candidate, error) {
	if turn.Try(1) != nil { // what others have decided may be enough
		a.mu.Lock()
		open = a.admitKnown(open, done)
		a.mu.Unlock()
		if len(open) == 0 {
			return nil, nil
		}
		if err := turn.Acquire(ctx, 1); err != nil {
			return nil, err
		}
	}
	defer turn.Release(1)
	a.mu.Lock()
	if open = a.admitKnown(open, done); len(open) == 0 {
		a.mu.Unlock()
		return nil, nil
	}
	tx, w, err := a.watched()
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	rs := a.db.rules.Load()
	a.decideOn(ctx, rs, tx, open, make(rulings))
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.watches, w)
	holds := func(read []tree.Path) bool { return a.db.rules.Load() == rs && !w.meets(read) }
	return a.admitDecided(open, holds, done), nil
}

// admitKnown settles those that need no decision and returns the others. What guards the
// audience is held.
func (a *audience) admitKnown(open []*candidate, done admission) (left []*candidate) {
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
// ruling; known are those that were made in the same state.
func (a *audience) decideOn(ctx context.Context, rs *rules.Ruleset, tx *store.Tx, open []*candidate, known rulings) {
	for _, c := range open {
		if c.ruling = known.find(c.read); c.ruling != nil && c.read.Caller.Trace == nil {
			continue
		}
		c.ruling = new(ruling)
		c.ruling.err = a.decideListen(ctx, rs, tx, c.read, &c.ruling.reads)
		c.read.Caller.Trace = nil // it has been told
		known.add(c.read, c.ruling)
	}
}

// admitDecided settles those that were refused, and those that were allowed if what the
// rules read holds. It returns the others. What guards the audience is held.
func (a *audience) admitDecided(open []*candidate, holds func([]tree.Path) bool, done admission) (left []*candidate) {
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
// up by writing what the rules read. It is one task in the turn of the client.
func (a *audience) admitInTurn(ctx context.Context, open []*candidate, done admission) error {
	t := &admitTask{open: open, settled: done}
	return a.db.do(context.WithoutCancel(ctx), t)
}

// A admitTask decides about listeners in the state that its batch leaves.
type admitTask struct {
	waiter
	open    []*candidate
	settled admission
	failed  error
}

func (t *admitTask) sender() (*quota.Quota, *line) { return t.open[0].read.Quota, nil }
func (t *admitTask) size() int64                   { return taskOverhead }
func (t *admitTask) cost() time.Duration           { return time.Duration(len(t.open)) * queue.TaskCost }

func (t *admitTask) apply(b *batch) error {
	b.committed = append(b.committed, func() { t.failed = t.decide(b.db, b.rules) })
	return nil
}

// decide decides under the rules that the batch leaves in force: those of a later task are
// not in force for the database yet, and the task has not looked at these listeners.
func (t *admitTask) decide(d *Database, rs *rules.Ruleset) error {
	open := d.admitKnown(t.open, t.settled)
	return d.snapshot(func(tx *store.Tx) error {
		d.decideOn(context.Background(), rs, tx, open, make(rulings))
		d.admitDecided(open, always, t.settled)
		return nil
	})
}

func (t *admitTask) finish(err error) {
	if err == nil {
		err = t.failed
	}
	t.waiter.finish(err)
}

// always says of a decision in the state of the committer that it holds.
func always([]tree.Path) bool { return true }

// Rulings are those that were made in one state, shared like grants.
type rulings map[grantKey]*ruling

func (f rulings) find(r Read) *ruling {
	for use := rules.AuthUnused; len(f) > 0 && use <= rules.AuthFull; use++ {
		if found := f[keyOf(r, classOf(r.Caller.Auth, use))]; found != nil {
			return found
		}
	}
	return nil
}

func (f rulings) add(r Read, made *ruling) {
	if made.err == nil && made.reads.Now {
		return // each is decided at its own time
	}
	f[keyOf(r, classOf(r.Caller.Auth, made.reads.Auth))] = made
}

// become gives listeners of one client another caller, and ends those that the rules do
// not allow it. When it returns, all have the new caller or have ended. It decides a few
// at a time, and others write and listen in between.
func (a *audience) become(turn *limit.Share, listeners []*Listener, caller Caller) {
	for some := range slices.Chunk(listeners, decideAtOnce) {
		a.becomeSome(turn, some, caller)
	}
}

func (a *audience) becomeSome(turn *limit.Share, listeners []*Listener, caller Caller) {
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
	a.mu.Lock() // nothing can be decided, and the database is about to close
	defer a.mu.Unlock()
	for _, l := range listeners {
		if !settled[l] {
			change(l, nil, err)
		}
	}
}

// pass gives a listener another caller with a grant, or ends it. d.mu is held.
func (l *Listener) pass(caller Caller, g *grant, err error) {
	l.read.Caller = caller
	if err == nil && g == l.grant {
		return
	}
	l.db.grants.leave(l)
	switch {
	case err != nil:
		l.db.revoke(l, err)
	case g != nil:
		g.join(l)
	}
}
