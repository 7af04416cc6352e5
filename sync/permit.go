package sync

import (
	"context"
	"errors"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree/store"
)

// decideListen is authorizeRead for a listen. A fault of ours must not end the
// committer or the listens of others.
func (a *audience) decideListen(ctx context.Context, rs *rules.Ruleset, tx *store.Tx, r Read, reads *rules.Reads) error {
	return guarded(func() error { return a.db.authorizeRead(ctx, rs, tx, r, reads) })
}

// revoke ends a listen that the rules no longer allow, or cannot decide. Without the
// database's data it ends the connection instead: the client listens again when it is
// back, and a refusal would be for good. d.mu is held.
func (a *audience) revoke(l *Listener, why error) {
	if errors.Is(why, ErrFailed) || errors.Is(why, ErrClosed) {
		a.remove(l)
		l.out.Shut(why)
		return
	}
	switch large := (*UnboundedError)(nil); {
	case errors.As(why, &large):
		a.db.log.Warn("a listen has outgrown its limit", "database", a.db.store.String(), "path", l.read.Path, "rule", large.Limit.Path, "max", large.Limit.Max)
	case !errors.Is(why, ErrDenied):
		a.db.log.Error("a listen could not be decided again", "database", a.db.store.String(), "path", l.read.Path, "err", why)
	}
	a.remove(l)
	l.onRevoke(why)
}

// A revocation is a listener that loses its view when the batch is committed.
type revocation struct {
	listener *Listener
	why      error
}
