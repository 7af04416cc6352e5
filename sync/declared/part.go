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

// maxTried bounds the nodes that are looked at to find one part of a node. Nodes that cannot be
// removed, since others keep them, may be any number; the timer remembers how far the search is
// (kept.Timer.At).
const maxTried = 8 * maxTogether

// part derives from the removal of a part of a node that is due, from which too much follows for one
// commit. The node keeps its time: the server's own removals give it no new one. It stays if all that
// is left of it is kept by other definitions. To find that out may take several commits.
func (d *Data) part(tx *store.Tx, now time.Time, t kept.Timer) (expiry, error) {
	x := parting{data: d, tx: tx, now: now, left: maxTried}
	from := tree.Root
	if t.Path.Contains(t.At) {
		from = t.Path.Rel(t.At)
	}
	if err := x.below(t.Path, from); err != nil {
		return expiry{nodes: 1}, err
	}
	writes := x.found
	if len(writes) == 0 {
		writes = x.rest
	}
	if len(writes) == 0 {
		return expiry{nodes: 1, partly: x.full, at: x.at}, nil
	}
	f, err := d.removed(tx, now, writes)
	refusal := (*derive.Refusal)(nil)
	if errors.As(err, &refusal) {
		f, err = d.removed(tx, now, writes[:1]) // that was tried
	}
	if errors.As(err, &refusal) {
		return expiry{nodes: 1}, nil // it stays
	}
	if err != nil || f == nil {
		return expiry{nodes: 1}, err
	}
	f.Timers = slices.DeleteFunc(f.Timers, func(of derive.Timer) bool {
		return of.Path == t.Path && d.states[of.Definition].ID == t.ID
	})
	return expiry{f, 1, true, t.At}, nil
}

// A parting finds nodes below one that can be removed in one commit. Those from which other places
// follow go first. So the fields of the node that say when it expires, and what counts, mostly stay until
// the rest goes with the node itself.
type parting struct {
	data *Data
	tx   *store.Tx
	now  time.Time

	found   []tree.ResolvedWrite // removals that others follow from
	rest    []tree.ResolvedWrite // removals that nothing follows from
	derived int                  // places that change by found
	looked  int                  // nodes that are looked at for found
	left    int                  // nodes that may be looked at in all
	full    bool                 // there is more than was looked at
	at      tree.Path            // the last one that was
}

// below finds nodes below p, in the order of paths, from the one on that from leads to. That is
// relative to p; the root is the beginning.
func (x *parting) below(p, from tree.Path) error {
	key, rest, _ := from.Cut()
	if key != "" {
		if err := x.try(p.Child(key), rest); err != nil || x.full {
			return err
		}
	}
	for {
		keys, err := keyed{x.tx}.KeysAfter(p, key)
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, key = range keys {
			if err := x.try(p.Child(key), tree.Root); err != nil || x.full {
				return err
			}
		}
	}
}

// try finds out what follows from the removal of a node, or of those below it from one on.
func (x *parting) try(p, from tree.Path) (err error) {
	if from.IsRoot() {
		x.at = p
		err = x.tryWhole(p)
	} else {
		err = x.below(p, from)
	}
	x.full = x.full || x.left <= 0 || x.derived > maxTogether/2
	return err
}

// tryWhole finds out what follows from the removal of a node. From too much, its children are tried.
func (x *parting) tryWhole(p tree.Path) error {
	removal := tree.ResolvedWrite{Target: tree.Target{Path: p}}
	f, err := x.data.removed(x.tx, x.now, []tree.ResolvedWrite{removal})
	x.left--
	switch refusal := (*derive.Refusal)(nil); {
	case errors.As(err, &refusal) && refusal.Reason == derive.TooLarge:
		err = x.below(p, tree.Root)
		x.left -= 2 * maxTogether
		return err
	case errors.As(err, &refusal): // it stays
		return nil
	case err != nil || f == nil:
		return err
	}
	x.left -= f.Looked
	switch {
	case x.derived+len(f.Derived) > maxTogether || x.looked+f.Looked > 2*maxTogether:
		x.full = true
	case len(f.Derived) > 0:
		x.found = append(x.found, removal)
		x.derived, x.looked = x.derived+len(f.Derived), x.looked+f.Looked
	case len(x.rest) < maxTogether:
		changes, err := x.changes(f)
		if changes {
			x.rest = append(x.rest, removal)
		}
		return err
	}
	return nil
}

// changes reports whether an update changes anything. A place that another definition keeps stays as it
// is.
func (x *parting) changes(f *Follows) (bool, error) {
	for _, w := range f.Writes {
		n, err := x.tx.GetLimit(w.Path, int64(len(w.Node.Text()))+1)
		switch {
		case errors.Is(err, store.ErrTooBig):
			return true, nil
		case err != nil || n != w.Node:
			return err == nil, err
		}
	}
	return false, nil
}
