package declared

import (
	"errors"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/kept"
)

// MaxExpired is how many nodes expire in one commit.
const MaxExpired = 1_000

// maxTogether is how many places may change in a commit in which nodes expire. Clients
// choose when nodes expire and how much follows from them, and all other writes wait meanwhile.
// A node from which more follows goes in parts.
const maxTogether = 2_000

// Expires reports whether a definition of the document has nodes expire.
func (d *Data) Expires() bool {
	return d != nil && slices.ContainsFunc(d.document.Definitions(), func(def *derive.Definition) bool { return def.Kind == derive.Expire })
}

// Expire returns the update that removes the nodes that are due, MaxExpired at most, nil if there are none,
// and when the next ones are due, in milliseconds since 1970; 0: never. It deletes their timers.
// Of a node from which too much follows it removes a part. That node's time becomes now, so its
// other parts go after the nodes that are due already.
func (d *Data) Expire(tx *store.Tx, now time.Time) (f *Follows, next int64, err error) {
	rows := store.Kept(tx)
	timers, err := rows.Timers(MaxExpired + 1)
	if err != nil {
		return nil, 0, err
	}
	n := slices.IndexFunc(timers, func(t kept.Timer) bool { return t.Due > now.UnixMilli() })
	if n < 0 {
		n = min(len(timers), MaxExpired)
	}
	n = min(n, MaxExpired)
	if n < len(timers) {
		next = timers[n].Due
	}
	if n == 0 {
		return nil, next, nil
	}
	f, n, partly, err := d.expired(tx, now, timers[:n])
	left := int64(0)
	if partly {
		left = now.UnixMilli()
	}
	for _, t := range timers[:n] {
		if err == nil {
			err = rows.SetTimer(kept.Timer{ID: t.ID, Path: t.Path, Due: left})
		}
	}
	if n < len(timers) {
		next = timers[n].Due
	}
	if partly && (next == 0 || next > left) {
		next = left
	}
	return f, next, err
}

// expired derives from the removal of nodes, of the first ones if more would follow than
// a commit may change. It returns how many these are, or 1 and that it removes a part of the first.
// Their number is doubled until it is too large, so that little is derived in vain.
func (d *Data) expired(tx *store.Tx, now time.Time, timers []kept.Timer) (f *Follows, n int, partly bool, err error) {
	for n < len(timers) && (f == nil || len(f.Derived) <= maxTogether/2) {
		next := min(max(2*n, 1), len(timers))
		more, err := d.expiredTogether(tx, now, timers[:next])
		refusal := (*derive.Refusal)(nil)
		switch {
		case errors.As(err, &refusal) && n == 0 && refusal.Reason == derive.TooLarge:
			f, err = d.part(tx, now, timers[0])
			return f, 1, f != nil, err
		case errors.As(err, &refusal) && n == 0: // it stays
			return nil, 1, false, nil
		case errors.As(err, &refusal):
			return f, n, false, nil
		case err != nil:
			return nil, n, false, err
		}
		f, n = more, next
	}
	return f, n, false, nil
}

// expiredTogether derives from the removal of nodes, nil if none of them is to be removed.
func (d *Data) expiredTogether(tx *store.Tx, now time.Time, timers []kept.Timer) (*Follows, error) {
	writes, err := d.removals(tx, timers)
	if err != nil || len(writes) == 0 {
		return nil, err
	}
	return d.removed(tx, now, writes)
}

// removed derives from removals.
func (d *Data) removed(tx *store.Tx, now time.Time, writes []tree.ResolvedWrite) (*Follows, error) {
	return d.derive(Write{Tx: tx, Now: now}, derive.Change{Writes: writes, Admin: true, Skip: d.skips, Most: maxTogether})
}

// removals returns writes that remove nodes which are there and whose definition is in force. None
// is inside of another.
func (d *Data) removals(tx *store.Tx, timers []kept.Timer) (writes []tree.ResolvedWrite, err error) {
	inForce := make(map[kept.ID]bool)
	for _, def := range d.document.Definitions() {
		inForce[d.states[def].ID] = !d.skips(def)
	}
	var paths []tree.Path
	for _, t := range timers {
		has := false
		if inForce[t.ID] {
			if has, err = tx.Has(t.Path); err != nil {
				return nil, err
			}
		}
		if has {
			paths = append(paths, t.Path)
		}
	}
	slices.SortFunc(paths, tree.ComparePaths)
	for i, p := range paths {
		if i == 0 || !writes[len(writes)-1].Path.Contains(p) {
			writes = append(writes, tree.ResolvedWrite{Target: tree.Target{Path: p}})
		}
	}
	return writes, nil
}
