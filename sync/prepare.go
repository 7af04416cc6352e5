package sync

import (
	"context"
	"errors"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/fingerprint"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// maxPrepares bounds how often a write is prepared again because its value was
// touched before the write came to its turn. After that the condition counts as
// failed, and the caller may try again with the value that is there then.
const maxPrepares = 8

// carryOut prepares a write, queues it and waits until it is done.
func (wr *writer) carryOut(ctx context.Context, w Write, rest bool) (*Commit, error) {
	for try := 1; ; try++ {
		if err := wr.prepare(ctx, w); err != nil {
			return nil, err
		}
		t := &syncWrite{writeTask: writeTask{write: w}, span: wr.db.newSpan(rest)}
		err := wr.db.do(ctx, t)
		switch {
		case err == nil:
			return &t.commit, nil
		case !errors.Is(err, errUnprepared):
			return nil, err
		case try == maxPrepares:
			return nil, &fault.StaleError{}
		}
	}
}

// prepare reads and hashes the value that a condition is about if it is large, so
// that the committer need not. The committer decides.
func (wr *writer) prepare(ctx context.Context, w Write) error {
	large, err := wr.needsPreparing(ctx, w)
	if err != nil || !large {
		return err
	}
	turn := wr.turnOf(w)
	if err := turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer turn.Release(1)
	return fault.Guard(func() error { return wr.fingerprint(ctx, w) })
}

// turnOf returns with whom a write takes turns to read a large value.
func (wr *writer) turnOf(w Write) *limit.Share {
	if w.Turn != nil {
		return w.Turn
	}
	return wr.readers
}

// needsPreparing reports whether the value that the condition of a write is about is
// large. It reads a small part of a value whose hash is not known, and nothing for a caller
// that may not read it: the committer refuses the write.
func (wr *writer) needsPreparing(ctx context.Context, w Write) (large bool, err error) {
	if w.If == nil || w.Update[0].Priority {
		return false, nil
	}
	known := wr.db.hashes.Has(w.Update[0].Path, comparedAtOnce/2)
	err = wr.db.snapshot(func(tx *store.Tx) error {
		may, err := wr.db.access.MayRead(ctx, access.State{Rules: wr.db.rules.Load(), Data: tx}, access.Whole(w.Caller, w.Update[0].Path, w.Door == DoorREST))
		if err != nil || !may {
			return err
		}
		if known {
			large = true
			return nil
		}
		_, err = tx.GetLimit(w.Update[0].Path, comparedAtOnce/2)
		if errors.Is(err, store.ErrTooBig) {
			large, err = true, nil
		}
		return err
	})
	return large, err
}

// fingerprint makes the fingerprint that the condition of a write needs, unless it is
// known.
//
// The value is read on a snapshot without a lock. A write that touches it meanwhile drops
// the fingerprint (see fingerprint.Cache), and the committer then answers errUnprepared,
// upon which it is made again.
func (wr *writer) fingerprint(ctx context.Context, w Write) error {
	most, rs := wr.db.mostCompared(w.Caller), wr.db.rules.Load()
	f := &fingerprint.Fingerprint{Path: w.Update[0].Path.Clone()}
	tx, err := wr.watch(f, most, rs)
	if err != nil || tx == nil {
		return err
	}
	defer tx.Rollback()
	tx.Interrupt = ctx.Err
	err = f.Read(tx, most, rs)
	wr.db.audience.Lock()
	defer wr.db.audience.Unlock()
	if err != nil {
		wr.db.hashes.Drop(f)
		return err
	}
	wr.db.hashes.Keep(f)
	return nil
}

// watch begins to watch the value of f, and returns the state that it is in then. The
// transaction is nil if the value's fingerprint is known.
func (wr *writer) watch(f *fingerprint.Fingerprint, most int64, rs *rules.Ruleset) (*store.Tx, error) {
	wr.db.audience.Lock() // no batch is being applied: the snapshot has all that was touched before
	defer wr.db.audience.Unlock()
	if known := wr.db.hashes.Find(f.Path); known != nil && known.Answers(most, rs) {
		return nil, nil
	}
	tx, err := wr.db.begin()
	if err == nil {
		wr.db.hashes.Watch(f)
	}
	return tx, err
}

// current reads what is now where a condition failed, for a caller that may read it.
func (wr *writer) current(ctx context.Context, w Write) (n tree.Node, err error) {
	turn := wr.turnOf(w)
	if err := turn.Acquire(ctx, 1); err != nil {
		return n, err
	}
	defer turn.Release(1)
	p := w.Update[0].Path
	_, err = wr.db.view(ctx, access.Whole(w.Caller, p, w.Door == DoorREST), func(tx *store.Tx) (int, error) {
		n, err = tx.GetLimit(p, wr.db.mostCompared(w.Caller))
		return 0, err
	})
	return n, err
}
