package sync

import (
	"context"

	"github.com/dogwooddb/dogwood/rules"
)

// A WriteExplanation says what a write would take. It is that of a write which was
// decided and measured, and then not made.
type WriteExplanation struct {
	Path string `json:"path"`
	Plan string `json:"plan"` // "write"

	// What a write does and takes depends on what is there, and could be used to guess
	// that. So the effect is nil if the caller may not read all that he writes; and the
	// cost, in which others have a part, is not nil for an administrator, or with
	// Options.TellRules.
	*WriteEffect
	*WriteCost
	Revision uint64         `json:"revision"`
	Rules    ExplainedRules `json:"rules"`
}

// A WriteEffect is what a write does to the places that it writes.
type WriteEffect struct {
	Changes bool `json:"changes"` // false: everything is as it would be already
	Bytes   int  `json:"bytes"`   // of the values, as JSON with priorities
}

// A WriteCost is what it takes to make a write. That depends on its surroundings: rows
// hold what is beside it, the rules read elsewhere, and listeners are anywhere.
type WriteCost struct {
	Rows      int `json:"rows"`         // rows and index entries read, by deciding too
	Written   int `json:"written"`      // rows put or deleted
	Entries   int `json:"indexEntries"` // index entries put or deleted
	Listeners int `json:"listeners"`    // that would be sent an event
	Cancelled int `json:"cancelled"`    // listeners that would lose their permission

	// AtLeast says that there are so many listeners that not all of them were looked at:
	// there may be more than Listeners and Cancelled, and those take more Rows.
	AtLeast bool `json:"atLeast,omitempty"`
}

// ExplainWrite decides a write and carries it out as Write does, but on a draft of the
// current state, and says what that took: nobody sees anything of it, and nothing gets to
// the disk. No other write waits meanwhile. It takes its turn among large reads. An ID is
// ignored. Errors are those of Write.
func (d *Database) ExplainWrite(ctx context.Context, w Write) (e WriteExplanation, err error) {
	if err := ctx.Err(); err != nil {
		return e, err
	}
	turn := d.turnOf(w)
	if err := turn.Acquire(ctx, 1); err != nil {
		return e, err
	}
	defer turn.Release(1)
	v := new(verdict)
	w.Caller.verdict, w.ID = v, nil
	b, err := d.draft(ctx, w)
	if err != nil {
		return e, err
	}
	defer b.tx.Rollback()
	err = guarded(func() error { return b.explain(w, &e) })
	if ended := b.tx.Interrupt(); err != nil && ended != nil {
		err = ended
	} else if isBroken(err) {
		err = unavailable(err)
	}
	e.Rules = d.explainRules(w.Caller, 0)
	return e, err
}

// draft returns a batch that is never committed. The batch has a copy of the listeners
// that the write may concern if its caller may be told of them, or else none.
func (d *Database) draft(ctx context.Context, w Write) (*batch, error) {
	b := &batch{audience: new(audience), db: d, ctx: ctx, rules: d.rules.Load(), apart: true}
	if d.mayKnowAll(w.Caller) {
		d.mu.Lock() // no batch is being applied: the draft has the state that listeners know
		defer d.mu.Unlock()
		all := false
		b.audience, all = d.touching(w.Update)
		b.partly = !all
	}
	if d.closed.Load() {
		return nil, ErrClosed
	}
	tx, err := d.store.Draft()
	if err != nil {
		return nil, unavailable(err)
	}
	tx.Interrupt = func() error {
		if d.closed.Load() {
			return ErrClosed
		}
		return ctx.Err()
	}
	b.tx = tx
	return b, nil
}

// explain carries out a write, as the only one of the batch, and says what it took.
func (b *batch) explain(w Write, e *WriteExplanation) error {
	*e = WriteExplanation{Path: w.Base.String(), Plan: "write", Revision: b.tx.Revision()}
	shown, err := mayReadAll(b, w)
	if err != nil {
		return err
	}
	t := &writeTask{write: w}
	read := b.tx.Stats().Read
	if err := t.carryOut(b); err != nil {
		return err
	}
	if shown {
		e.WriteEffect = t.effect(b)
	}
	if b.db.mayKnowAll(w.Caller) {
		e.WriteCost = b.cost()
		e.Rows -= read
	}
	return nil
}

// mayReadAll reports whether the caller may read all that a write replaces. He does
// not ask for it, so nobody is told of what is decided.
func mayReadAll(b *batch, w Write) (bool, error) {
	var budget rules.Budget // of all of them
	for _, u := range w.Update {
		if w.Caller.Admin {
			break
		}
		decision, err := b.rules.Check(b.ctx, &rules.Request{
			Op:    rules.OpRead,
			Auth:  w.Caller.Auth,
			Path:  u.Path,
			Plain: true,
			Data:  b.tx,
			Now:   b.db.options.Now(),

			Budget: &budget,
		})
		if err != nil || !decision.Allow {
			return false, err
		}
	}
	return true, nil
}

// effect says what a write did that is the only one of b.
func (t *writeTask) effect(b *batch) *WriteEffect {
	e := &WriteEffect{Changes: b.dirty}
	for _, w := range t.commit.Writes {
		e.Bytes += len(w.Node.JSON())
	}
	return e
}

// cost says what the only write of a batch took.
func (b *batch) cost() *WriteCost {
	s := b.tx.Stats()
	e := &WriteCost{
		Rows:      s.Read,
		Written:   s.Written - s.Entries,
		Entries:   s.Entries,
		Cancelled: len(b.revoked),
		AtLeast:   b.partly,
	}
	heard := make(map[*Listener]bool)
	for _, d := range b.events {
		for _, l := range d.group.listeners {
			if !l.revoked {
				heard[l] = true
			}
		}
	}
	e.Listeners = len(heard)
	return e
}
