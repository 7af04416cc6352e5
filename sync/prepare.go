package sync

import (
	"context"
	"errors"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// maxPrepares bounds how often a write is prepared again because its value was
// touched before the write came to its turn. After that the condition counts as
// failed, and the caller may try again with the value that is there then.
const maxPrepares = 8

// carryOut prepares a write, queues it and waits until it is done.
func (d *Database) carryOut(ctx context.Context, w Write, rest bool) (*Commit, error) {
	for try := 1; ; try++ {
		if err := d.prepare(ctx, w); err != nil {
			return nil, err
		}
		t := &syncWrite{writeTask: writeTask{write: w}, lap: d.newLap(rest)}
		err := d.do(ctx, t)
		switch {
		case err == nil:
			return &t.commit, nil
		case !errors.Is(err, errUnprepared):
			return nil, err
		case try == maxPrepares:
			return nil, &StaleError{}
		}
	}
}

// prepare reads and hashes the value that a condition is about if it is large, so
// that the committer need not. The committer decides.
func (d *Database) prepare(ctx context.Context, w Write) error {
	large, err := d.needsPreparing(ctx, w)
	if err != nil || !large {
		return err
	}
	turn := d.turnOf(w)
	if err := turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer turn.Release(1)
	return guarded(func() error { return d.fingerprint(ctx, w) })
}

// turnOf returns with whom a write takes turns to read a large value.
func (d *Database) turnOf(w Write) *limit.Share {
	if w.Turn != nil {
		return w.Turn
	}
	return d.readers
}

// needsPreparing reports whether the value that the condition of a write is about is
// large. It reads a small part of the value, and nothing for a caller that may not
// read it: the committer refuses the write.
func (d *Database) needsPreparing(ctx context.Context, w Write) (large bool, err error) {
	if w.If == nil || w.Update[0].Priority {
		return false, nil
	}
	err = d.snapshot(func(tx *store.Tx) error {
		if may, err := d.mayReadPlace(ctx, d.rules.Load(), tx, w.Caller, w.Update[0].Path); err != nil || !may {
			return err
		}
		_, err := tx.GetLimit(w.Update[0].Path, comparedAtOnce/2)
		if errors.Is(err, store.ErrTooBig) {
			large, err = true, nil
		}
		return err
	})
	return large, err
}

// mayReadPlace reports whether a caller may read what is at a path. The caller did
// not ask for that, so no observer is told.
func (d *Database) mayReadPlace(ctx context.Context, rs *rules.Ruleset, tx *store.Tx, c Caller, p tree.Path) (bool, error) {
	if c.Admin {
		return true, nil
	}
	decision, err := rs.Check(ctx, &rules.Request{
		Op:    rules.OpRead,
		Auth:  c.Auth,
		Path:  p,
		Plain: true,
		Data:  tx,
		Now:   d.options.Now(),
	})
	return decision.Allow, err
}

// fingerprint makes the fingerprint that the condition of a write needs, unless it is
// known.
func (d *Database) fingerprint(ctx context.Context, w Write) error {
	most, rs := d.mostCompared(w.Caller), d.rules.Load()
	f := &fingerprint{path: ownPath(w.Update[0].Path)}
	tx, err := d.watch(f, most, rs)
	if err != nil || tx == nil {
		return err
	}
	defer tx.Rollback()
	tx.Interrupt = ctx.Err
	err = f.read(tx, most, rs)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.hashes.drop(f)
		return err
	}
	d.hashes.keep(f)
	return nil
}

// watch begins to watch the value of f, and returns the state that it is in then. The
// transaction is nil if the value's fingerprint is known.
func (d *Database) watch(f *fingerprint, most int64, rs *rules.Ruleset) (*store.Tx, error) {
	d.mu.Lock() // no batch is being applied: the snapshot has all that was touched before
	defer d.mu.Unlock()
	if known := d.hashes.find(f.path); known != nil && known.answers(most, rs) {
		return nil, nil
	}
	tx, err := d.begin()
	if err == nil {
		d.hashes.watch(f)
	}
	return tx, err
}

// read fills in a fingerprint from a snapshot.
func (f *fingerprint) read(tx *store.Tx, most int64, rs *rules.Ruleset) error {
	n, err := tx.GetLimit(f.path, most)
	if errors.Is(err, store.ErrTooBig) {
		f.rules, f.size, f.over = rs, most, true
		return nil
	}
	if err != nil {
		return err
	}
	f.size, f.hash, f.hashJS = int64(len(n.Text())), n.Hash(), n.HashJS()
	return f.bound(rs, tx)
}

// current reads what is now where a condition failed, for a caller that may read it.
func (d *Database) current(ctx context.Context, w Write) (n tree.Node, err error) {
	turn := d.turnOf(w)
	if err := turn.Acquire(ctx, 1); err != nil {
		return n, err
	}
	defer turn.Release(1)
	p := w.Update[0].Path
	err = d.view(ctx, Read{Caller: w.Caller, Path: p, Plain: true}, func(tx *store.Tx) error {
		n, err = tx.GetLimit(p, d.mostCompared(w.Caller))
		return err
	})
	return n, err
}
