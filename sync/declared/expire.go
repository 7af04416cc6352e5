package declared

import (
	"errors"
	"slices"
	"sort"
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
//
// Timers of definitions that are gone or not in force are deleted when they are due, and their
// nodes stay: such a definition gets another number and new timers when it is in force again. So
// a row that means nothing cannot be in front of the others for ever. The caller makes the update
// in the same transaction.
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
	x, err := d.expired(tx, now, timers[:n])
	left := int64(0)
	if x.partly {
		left = now.UnixMilli()
	}
	for _, t := range timers[:x.nodes] {
		if err == nil {
			_, err = rows.SetTimer(kept.Timer{ID: t.ID, Path: t.Path, Due: left, At: x.at})
		}
	}
	if x.nodes < len(timers) {
		next = timers[x.nodes].Due
	}
	if x.partly && (next == 0 || next > left) {
		next = left
	}
	if x.follows != nil && !x.partly {
		stay(d, x.follows, timers[:x.nodes], now.UnixMilli())
	}
	return x.follows, next, err
}

// stay takes the times of nodes out of an update that were due and that it does not remove, since another
// definition keeps them. They would be due again at once, and in front of all others.
func stay(d *Data, f *Follows, tried []kept.Timer, now int64) {
	due := make(map[kept.Timer]bool)
	for _, t := range tried {
		due[kept.Timer{ID: t.ID, Path: t.Path}] = true
	}
	f.Timers = slices.DeleteFunc(f.Timers, func(t derive.Timer) bool {
		return t.Due != 0 && t.Due <= now && due[kept.Timer{ID: d.states[t.Definition].ID, Path: t.Path}]
	})
}

// An expiry is what becomes of nodes that are due.
type expiry struct {
	follows *Follows  // nil: nothing is removed
	nodes   int       // how many of them, the first ones
	partly  bool      // it is the first one, and it is to be gone on with
	at      tree.Path // and then what it has in front of this path stays
}

// expired derives from the removal of nodes, of the first ones if more would follow than
// a commit may change, or of a part of the first one.
// Their number is doubled until it is too large, so that little is derived in vain. Each try
// derives from all of them again, so to add one at a time would take quadratic time.
func (d *Data) expired(tx *store.Tx, now time.Time, timers []kept.Timer) (x expiry, err error) {
	for x.nodes < len(timers) && (x.follows == nil || len(x.follows.Derived) <= maxTogether/2) {
		next := min(max(2*x.nodes, 1), len(timers))
		more, err := d.expiredTogether(tx, now, timers[:next])
		refusal := (*derive.Refusal)(nil)
		switch {
		case errors.As(err, &refusal) && x.nodes == 0 && refusal.Reason == derive.TooLarge:
			return d.part(tx, now, timers[0])
		case errors.As(err, &refusal) && x.nodes == 0: // it stays
			return expiry{nodes: 1}, nil
		case errors.As(err, &refusal):
			return x, nil
		case err != nil:
			return expiry{nodes: x.nodes}, err
		}
		x = expiry{follows: more, nodes: next}
	}
	return x, nil
}

// expiredTogether derives from the removal of nodes, nil if none of them is to be removed.
func (d *Data) expiredTogether(tx *store.Tx, now time.Time, timers []kept.Timer) (*Follows, error) {
	writes, err := d.removals(tx, timers)
	if err != nil || len(writes) == 0 {
		return nil, err
	}
	return d.removed(tx, now, writes)
}

// removed derives from removals. As for an administrator, places that other definitions keep stay
// as they are, where a client would be refused. Most has it bounded as a write of a client.
func (d *Data) removed(tx *store.Tx, now time.Time, writes []tree.ResolvedWrite) (*Follows, error) {
	return d.derive(Write{Tx: tx, Now: now}, derive.Change{Writes: writes, Admin: true, Skip: d.skips, Most: maxTogether})
}

// removals returns writes that remove nodes which are there and whose definition is in force.
// None is inside of another, since the targets of one update are disjoint. Paths in order have a
// node in front of those below it, so the last write is the only one that can contain the next
// path.
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
	sort.Slice(paths, func(i, j int) bool { return tree.ComparePaths(paths[i], paths[j]) < 0 })
	for i, p := range paths {
		if i == 0 || !writes[len(writes)-1].Path.Contains(p) {
			writes = append(writes, tree.ResolvedWrite{Target: tree.Target{Path: p}})
		}
	}
	return writes, nil
}
