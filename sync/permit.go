package sync

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// permit decides whether a listener may follow its view, in the state of tx, and
// notes what that depends on. The error is ErrDenied or one of deciding; refused
// has those that were made in the same state. d.mu is held.
func (d *Database) permit(ctx context.Context, rs *rules.Ruleset, tx *store.Tx, l *Listener, refused refusals) error {
	if l.read.Caller.Admin {
		return nil
	}
	if g := d.grants.find(l.read); g != nil {
		if l.read.Caller.Trace != nil { // who wants to be told how it is decided
			if err := d.decideListen(ctx, rs, tx, l.read, nil); err != nil {
				return err
			}
		}
		g.join(l)
		return nil
	}
	if err := refused.find(l.read); err != nil {
		return err
	}
	var reads rules.Reads
	if err := d.decideListen(ctx, rs, tx, l.read, &reads); err != nil {
		refused[l.read.grantKey(classOf(l.read.Caller.Auth, reads.Auth))] = err
		return err
	}
	d.grants.make(l.read, reads).join(l)
	return nil
}

// Refusals are decisions against listeners, shared like grants, but only among
// those that are decided together.
type refusals map[grantKey]error

func (f refusals) find(r Read) error {
	for use := rules.AuthUnused; len(f) > 0 && use <= rules.AuthFull; use++ {
		if err := f[r.grantKey(classOf(r.Caller.Auth, use))]; err != nil {
			return err
		}
	}
	return nil
}

// decideListen is authorizeRead for a listen. A fault of ours must not end the
// committer or the listens of others.
func (d *Database) decideListen(ctx context.Context, rs *rules.Ruleset, tx *store.Tx, r Read, reads *rules.Reads) error {
	return guarded(func() error { return d.authorizeRead(ctx, rs, tx, r, reads) })
}

// reconsider decides again about listeners whose caller has changed, or about
// whom a batch that was not committed found out something. Those that may not go
// on are ended. d.mu is held.
func (d *Database) reconsider(listeners iter.Seq[*Listener]) {
	var open []*Listener
	for l := range listeners {
		if !l.closed.Load() {
			open = append(open, l)
		}
	}
	if len(open) == 0 {
		return
	}
	for _, l := range open {
		l.revoked = false
		d.grants.leave(l)
	}
	refused := make(refusals)
	err := d.snapshot(func(tx *store.Tx) error {
		for _, l := range open {
			if err := d.permitted(context.Background(), d.rules.Load(), tx, l, refused); err != nil {
				d.revoke(l, err)
			}
		}
		return nil
	})
	if err != nil { // no snapshot: nothing can be decided, and the database is about to close
		for _, l := range open {
			d.revoke(l, err)
		}
	}
}

// revoke ends a listen that the rules no longer allow, or cannot decide. d.mu is
// held.
func (d *Database) revoke(l *Listener, why error) {
	switch large := (*UnboundedError)(nil); {
	case errors.As(why, &large):
		d.log.Warn("a listen has outgrown its limit", "database", d.store.String(), "path", l.read.Path, "rule", large.Limit.Path, "max", large.Limit.Max)
	case !errors.Is(why, ErrDenied) && !errors.Is(why, ErrClosed):
		d.log.Error("a listen could not be decided again", "database", d.store.String(), "path", l.read.Path, "err", why)
	}
	d.remove(l)
	l.onRevoke(why)
}

// A revocation is a listener that loses its view when the batch is committed.
type revocation struct {
	listener *Listener
	why      error
}

// review decides again what writes of this batch may have changed about who may
// listen. Whoever may not go on gets no event of these writes or of later ones. It
// also forgets the fingerprints of what the writes changed.
func (b *batch) review(writes []tree.ResolvedWrite) {
	b.db.hashes.touch(writes)
	for g := range b.db.grants.touched(writes) {
		b.reviewGrant(g)
	}
}

func (b *batch) reviewGrant(g *grant) {
	if len(g.listeners) == 0 {
		return // dissolved since it was found
	}
	var reads rules.Reads
	err := b.db.decideListen(b.ctx, b.rules, b.tx, g.listeners[0].read, &reads)
	if err != nil || !g.covers(reads) {
		b.redecide(g.listeners)
		return
	}
	b.undo = append(b.undo, func() { b.db.reconsider(slices.Values(g.listeners)) })
	b.db.grants.depend(g, reads.Paths)
}

// redecide decides about listeners as if they had just come.
func (b *batch) redecide(listeners []*Listener) {
	listeners = slices.Clone(listeners)
	b.undo = append(b.undo, func() { b.db.reconsider(slices.Values(listeners)) })
	for _, l := range listeners {
		b.db.grants.leave(l)
	}
	refused := make(refusals)
	for _, l := range listeners {
		if l.revoked {
			continue
		}
		if err := b.db.permitted(b.ctx, b.rules, b.tx, l, refused); err != nil {
			l.revoked = true
			b.revoked = append(b.revoked, revocation{l, err})
		}
	}
}
