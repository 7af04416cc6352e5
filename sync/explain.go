package sync

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/explained"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/fingerprint"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Explain reads as Get does and says what it took. A query that lacks an index is
// not refused. Errors are those of Get.
func (d *Database) Explain(ctx context.Context, r Read) (e explained.Read, err error) {
	return d.explain(ctx, r, func(tx *store.Tx) (store.Cost, int, error) {
		n, c, err := tx.Explain(r.Path, r.Query, d.options.MaxRead)
		return c, len(n.JSON()), err
	})
}

// ExplainShallow is Explain for Shallow.
func (d *Database) ExplainShallow(ctx context.Context, r Read, after string, limit int) (e explained.Read, err error) {
	r.KeysOnly = true
	return d.explain(ctx, r, func(tx *store.Tx) (store.Cost, int, error) {
		l, c, err := tx.ExplainShallow(r.Path, after, limit)
		return c, listingBytes(l), err
	})
}

func (d *Database) explain(ctx context.Context, r Read, read func(*store.Tx) (store.Cost, int, error)) (e explained.Read, err error) {
	v := new(access.Verdict)
	r.Caller = r.Caller.Noting(v)
	r.OneShot = false // a missing index is told, not refused
	err = d.read(ctx, r, func(tx *store.Tx) (int, error) {
		decided := tx.Stats()
		c, bytes, err := read(tx)
		e = explained.Read{
			Path:     r.Path.String(),
			Plan:     c.Plan,
			Building: c.Building,
			Results:  c.Results,
			Bytes:    bytes,
			Revision: tx.Revision(),
			Rules:    d.explainRules(r.Caller, v, decided.Read),
		}
		if err != nil {
			return e.Bytes, err
		}
		looks := explained.Looks{Visited: c.Visited, Rows: c.Rows}
		whole := r.Plain || d.access.MayKnowAll(r.Caller)
		if !whole {
			tx.Hold = nil // how much the rules read is not for the caller to know
			whole, err = d.access.MayRead(ctx, access.State{Rules: d.rules.Load(), Data: tx}, access.Whole(r.Caller, r.Path, !r.Realtime))
		}
		if whole {
			e.Looks = &looks
		}
		if !r.Plain {
			e.Query = explained.QueryOf(r.Query)
		}
		if c.Index != "" {
			e.Index = &c.Index
		}
		if rs := d.Rules(); !d.access.Declared(rs, r.Path, r.Query) {
			e.MissingIndexOn = explained.MissingIndexFor(rs, r.Path, r.Query.Order())
		}
		return e.Bytes, err
	})
	return e, err
}

func (d *Database) explainRules(c Caller, v *access.Verdict, rows int) explained.Rules {
	e := explained.Rules{Allowed: true, Admin: c.Admin, Evaluated: v.Asked}
	if d.access.MayKnowAll(c) {
		e.Rows, e.By = rows, v.By
	}
	return e
}

// ExplainWrite decides a write and carries it out as Write does, but on a draft of the
// current state, and says what that took: nobody sees anything of it, and nothing gets to
// the disk. No other write waits meanwhile. It takes its turn among large reads. An ID is
// ignored. Errors are those of Write.
//
// A write transaction that is rolled back would do as well, but all writes would wait for
// it, and any caller that may explain could stop the database. The listeners are copied in a
// bounded number for the same reason.
func (d *Database) ExplainWrite(ctx context.Context, w Write) (e explained.Write, err error) {
	if err := ctx.Err(); err != nil {
		return e, err
	}
	turn := d.turnOf(w)
	if err := turn.Acquire(ctx, 1); err != nil {
		return e, err
	}
	defer turn.Release(1)
	v := new(access.Verdict)
	w.Caller, w.ID = w.Caller.Noting(v), nil
	b, err := d.draft(ctx, w)
	if err != nil {
		return e, err
	}
	defer b.Tx.Rollback()
	err = fault.Guard(func() error { return b.explain(w, &e) })
	if ended := b.Tx.Interrupt(); err != nil && ended != nil {
		err = ended
	} else if fault.IsBroken(err) {
		err = fault.Unavailable(err)
	}
	e.Rules = d.explainRules(w.Caller, v, 0)
	return e, err
}

// draft returns a batch that is never committed. The batch has a copy of the listeners
// that the write may concern if its caller may be told of them, or else none.
func (d *Database) draft(ctx context.Context, w Write) (*batch, error) {
	b := &batch{Batch: audience.Batch{Audience: d.audience.Empty(), Ctx: ctx, Rules: d.rules.Load(), Apart: true}, db: d.core, data: d.data.Load(), hashes: new(fingerprint.Cache)}
	if d.access.MayKnowAll(w.Caller) {
		d.audience.Lock() // no batch is being applied: the draft has the state that listeners know
		defer d.audience.Unlock()
		all := false
		b.Audience, all = d.audience.Touching(w.Update)
		b.partly = !all
	}
	if d.closed.Load() {
		return nil, fault.ErrClosed
	}
	tx, err := d.store.Draft()
	if err != nil {
		return nil, fault.Unavailable(err)
	}
	tx.Interrupt = func() error {
		if d.closed.Load() {
			return fault.ErrClosed
		}
		return ctx.Err()
	}
	b.Tx = tx
	return b, nil
}

// explain carries out a write, as the only one of the batch, and says what it took.
func (b *batch) explain(w Write, e *explained.Write) error {
	*e = explained.Write{Path: w.Base.String(), Plan: "write"}
	var budget rules.Budget // of all places
	shown, err := true, error(nil)
	for i := 0; i < len(w.Update) && shown; i++ {
		at := access.State{Rules: b.Rules, Data: b.Tx, Budget: &budget}
		if shown, err = b.db.access.MayRead(b.Ctx, at, access.Whole(w.Caller, w.Update[i].Path, w.Door == DoorREST)); err != nil {
			return err
		}
	}
	t := &writeTask{write: w}
	read := b.Tx.Stats().Read
	if err := t.carryOut(b); err != nil {
		return err
	}
	knowsAll := b.db.access.MayKnowAll(w.Caller)
	if shown || knowsAll {
		e.Revision = b.Tx.Revision()
	}
	if shown {
		e.Effect = t.effect(b)
	}
	if knowsAll {
		e.Cost = b.cost()
		e.Rows -= read
		e.Follows = t.explainFollows(b)
	}
	return nil
}

// effect says what a write did that is the only one of b.
func (t *writeTask) effect(b *batch) *explained.Effect {
	e := &explained.Effect{Changes: b.dirty}
	for _, w := range t.commit.Writes {
		e.Bytes += len(w.Node.JSON())
	}
	return e
}

// explainFollows says what follows from a write, nil if nothing can.
func (t *writeTask) explainFollows(b *batch) *explained.Follows {
	if t.follows == nil {
		return nil
	}
	e := &explained.Follows{Derived: []explained.Derived{}, DerivedTotal: len(t.follows.Derived), Kept: t.follows.Kept}
	for _, d := range t.follows.Derived[:min(len(t.follows.Derived), explained.MaxDerived)] {
		e.Derived = append(e.Derived, explained.Derived{By: d.Definition.Name, Path: "/" + d.Path.Clean(), Value: json.RawMessage(d.Value.JSON())})
	}
	for _, s := range t.follows.Skipped {
		e.Skipped = append(e.Skipped, explained.Skipped{By: s.Definition.Name, Path: "/" + s.Path.Clean(), Why: s.Why})
	}
	for _, w := range t.write.Update {
		for _, name := range b.data.Unfinished(w.Path) {
			if !slices.Contains(e.Building, name) {
				e.Building = append(e.Building, name)
			}
		}
	}
	return e
}

// cost says what the only write of a batch took.
func (b *batch) cost() *explained.Cost {
	s := b.Tx.Stats()
	e := &explained.Cost{
		Rows:    s.Read,
		Written: s.Written - s.Entries,
		Entries: s.Entries,
		AtLeast: b.partly,
	}
	e.Listeners, e.Cancelled = b.Reached()
	return e
}
