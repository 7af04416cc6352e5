package sync

import (
	"context"
	"errors"
	"time"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree/store"
)

// probeEvery is how often a store that failed is tried without a write that
// somebody asked for.
const probeEvery = time.Second

// metaProbe is where a probe writes to.
const metaProbe = "probe"

// Health returns why writes cannot be stored now, nil if they can as far as is
// known, or that the file was replaced. It writes nothing, except after a failure: then it commits
// something of its own, at most once a second, to find out whether that has passed.
func (d *Database) Health(ctx context.Context) error {
	if d.closed.Load() {
		return fault.ErrClosed
	}
	if d.store.ReadOnly() {
		return fault.ErrReadOnly
	}
	if err := d.store.InPlace(); err != nil {
		return err
	}
	if !d.stats.failing.Load() {
		return d.Usable()
	}
	now := time.Now().UnixNano()
	if last := d.stats.probed.Load(); now-last < int64(probeEvery) || !d.stats.probed.CompareAndSwap(last, now) {
		return fault.ErrUnavailable
	}
	return d.do(ctx, &call{f: func(b *batch) error { // commits something without meaning
		b.dirty = true
		return fault.Broken(writeProbe(b.Tx))
	}})
}

// Usable returns why the database's data cannot be had now: ErrClosed or ErrFailed.
// After a failure it tries to mend that, at most once a second.
func (d *Database) Usable() error {
	return d.snapshot(func(*store.Tx) error { return nil })
}

// tellFailed logs that the store failed. That a disk has no room is logged when it begins,
// before observeCommit notes it, and not for each write that it refuses.
func (c *committer) tellFailed(what string, err error, args ...any) {
	if !store.NoRoom(err) || !c.db.stats.failing.Load() {
		c.db.log.Error(what, append([]any{"database", c.db.store.String(), "err", err}, args...)...)
	}
}

// observeCommit notes how an attempt to commit ended.
func (c *committer) observeCommit(b *batch, err error) {
	switch {
	case err == nil:
		if b.dirty && c.db.stats.failing.CompareAndSwap(true, false) {
			c.db.log.Info("commits work again", "database", c.db.store.String())
		}
	case errors.As(err, new(*fault.PanicError)):
		c.db.stats.failed.Add(1)
	default:
		c.db.stats.failed.Add(1)
		c.db.stats.probed.Store(time.Now().UnixNano())
		c.db.stats.failing.Store(true)
	}
}

// Usage returns how the database's file is used.
func (d *Database) Usage() (store.Usage, error) {
	if d.closed.Load() {
		return store.Usage{}, fault.ErrClosed
	}
	return d.store.Usage()
}

// Failing reports whether the last commit failed because the store did.
func (d *Database) Failing() bool { return d.stats.failing.Load() || d.store.Failed() }
