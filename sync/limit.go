package sync

import (
	"context"
	"errors"
	"slices"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
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

// outgrown ends the listens whose views a write made larger than the rules allow.
func (b *batch) outgrown(writes []tree.ResolvedWrite) error {
	if b.hub.listeners.Load() == 0 || !b.rules.Limited() {
		return nil
	}
	touched := make(map[*group]bool)
	for _, w := range writes {
		if err := b.touchedBy(w, touched); err != nil {
			return err
		}
	}
	for g := range touched {
		if err := b.endOutgrown(g); err != nil {
			return err
		}
	}
	return nil
}

// touchedBy adds the groups whose views a write may have made too large: all above
// and below it if a node has outgrown its limit, or else windows that may show other
// children now, with limits below these.
func (b *batch) touchedBy(w tree.ResolvedWrite, touched map[*group]bool) error {
	full, err := b.grown(w)
	if err != nil {
		return err
	}
	for g := range b.hub.above(w.Path) {
		if full || !g.query.IsAll() && limitsBelow(b.rules.Limits(g.path)) {
			touched[g] = true
		}
	}
	if full {
		for g := range b.hub.below(w.Path) {
			touched[g] = true
		}
	}
	return nil
}

func limitsBelow(l *rules.Limits) bool {
	if l == nil {
		return false
	}
	literals, others := l.Below()
	return len(literals) > 0 || others
}

// grown reports whether a write may have made a node larger than its limit: one on
// the way, which has too many children now, or any at its place and below it.
func (b *batch) grown(w tree.ResolvedWrite) (bool, error) {
	if w.Priority || w.Node.IsEmpty() {
		return false, nil
	}
	l, at, rest := b.rules.Limits(tree.Root), tree.Root, w.Path
	for l != nil {
		key, below, ok := rest.Cut()
		if !ok {
			return w.Node.IsObject(), nil
		}
		if x, err := l.Excess(b.tx, at, tree.Query{}); x != nil || err != nil {
			return x != nil, err
		}
		l, at, rest = l.Child(key), at.Child(key), below
	}
	return false, nil
}

// endOutgrown ends the listens of a group if its view is too large now.
func (b *batch) endOutgrown(g *group) error {
	err := withinLimits(b.rules, b.tx, Read{Path: g.path, Query: g.query})
	if err == nil {
		return nil
	}
	if !errors.As(err, new(*UnboundedError)) {
		return err
	}
	listeners := slices.Clone(g.listeners)
	b.undo = append(b.undo, func() { b.db.reconsider(slices.Values(listeners)) })
	for _, l := range listeners {
		if !l.read.Caller.Admin && !l.revoked {
			l.revoked = true
			b.revoked = append(b.revoked, revocation{l, err})
		}
	}
	return nil
}

// permitted is permit with the bounds of what may be read at once.
func (a *audience) permitted(ctx context.Context, rs *rules.Ruleset, tx *store.Tx, l *Listener, refused refusals) error {
	if err := a.permit(ctx, rs, tx, l, refused); err != nil {
		return err
	}
	err := withinLimits(rs, tx, l.read)
	if err != nil {
		a.grants.leave(l)
	}
	return err
}
