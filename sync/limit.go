package sync

import (
	"context"
	"errors"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree/store"
)

// An UnboundedError says that a read would show more children of a node than its
// .limit in the rules allows. It is never answered with a part of them.
type UnboundedError struct{ *rules.Excess }

// Error says what is wrong with the read and what would be allowed.
func (e *UnboundedError) Error() string { return e.Excess.String() }

// Unwrap returns ErrTooBig.
func (e *UnboundedError) Unwrap() error { return ErrTooBig }

// withinLimits refuses a read that would show more children of a node than the rules
// allow, at its path or below it. Administrators may read everything.
func withinLimits(rs *rules.Ruleset, tx *store.Tx, r Read) error {
	if r.Caller.Admin || r.childless {
		return nil
	}
	x, err := rs.Excess(tx, r.Path, r.Query, r.keysOnly)
	if x != nil {
		return &UnboundedError{x}
	}
	return err
}

// end ends the listens of a group that show more than the rules allow, but those of
// administrators.
func (b *batch) end(g *group, x *rules.Excess) {
	b.undo = append(b.undo, b.grants.restoring(g.listeners))
	for _, l := range g.listeners {
		if !l.read.Caller.Admin && !l.revoked {
			l.revoked = true
			b.revoked = append(b.revoked, revocation{l, &UnboundedError{x}})
		}
	}
}

// boundGroups ends the listens whose views are too large for new rules. The views of those
// that take many rows are read again, and measured then.
func (b *batch) boundGroups() error {
	if !b.rules.Limited() {
		return nil
	}
	m := &meter{tx: b.tx, most: b.db.publishRows}
	m.run()
	defer m.stop()
	for g := range b.hub.groups() {
		if err := b.boundGroup(m, g); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) boundGroup(m *meter, g *group) error {
	if b.rules.Limits(g.path) == nil {
		return nil
	}
	x, err := (*rules.Excess)(nil), errLag
	if m.left() > 0 {
		x, err = b.rules.Excess(b.tx, g.path, g.query, false)
	}
	switch {
	case errors.Is(err, errLag):
		b.lag(g)
	case err != nil:
		return err
	case x != nil:
		b.end(g, x)
	}
	return nil
}

// bound measures what a listener shows that was attached just now, or has no
// administrator any more. It need not be repeated: what writes add is measured by them.
func (a *audience) bound(turn *limit.Share, r Read) error {
	if r.Caller.Admin || a.db.rules.Load().Limits(r.Path) == nil {
		return nil
	}
	if err := turn.Acquire(context.Background(), 1); err != nil {
		return err
	}
	defer turn.Release(1)
	return a.db.snapshot(func(tx *store.Tx) error { return withinLimits(a.db.rules.Load(), tx, r) })
}

// boundAll ends those listeners whose views are too large for callers that are no
// administrators.
func (a *audience) boundAll(turn *limit.Share, listeners []*Listener) {
	for _, l := range listeners {
		if err := a.bound(turn, l.read); err != nil {
			l.outgrow(err)
		}
	}
}
