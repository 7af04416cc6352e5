package sync

import (
	"context"
	"time"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Health returns why writes cannot be stored now, nil if they can as far as is
// known, or that the file was replaced. It writes nothing, except after a failure: then it commits
// something of its own, at most once a second, to find out whether that has passed.
//
// It probes since nothing else would find out that the disk works again, if the load balancer
// has stopped sending writes. One caller a second is enough, so the others get the last answer.
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

// Usage returns how the database's file is used.
func (d *Database) Usage() (store.Usage, error) {
	if d.closed.Load() {
		return store.Usage{}, fault.ErrClosed
	}
	return d.store.Usage()
}

// Failing reports whether the last commit failed because the store did.
func (d *Database) Failing() bool { return d.stats.failing.Load() || d.store.Failed() }

// Idle reports whether the database can be closed without anybody noticing, and opened again:
// it has a file that works, which has all that was committed; there are no listeners, no
// operations on record for a disconnect, no nodes that are to expire, and no work in the background.
// The caller sees to it that nothing begins meanwhile.
//
// Listeners and operations that wait for a disconnect keep a database open: both are state that
// a client was promised. A node that expires is removed by an open database alone. State of the
// committer is asked for there.
func Idle(d *Database) bool {
	if d.options.File == "" || d.closed.Load() || d.store.ReadOnly() || d.Failing() || d.store.InPlace() != nil {
		return false
	}
	if s := d.Stats(); s.Listeners > 0 || s.Queued > 0 || d.scrubbing.Load() || !d.store.Idle() {
		return false
	}
	idle := false
	err := d.do(context.Background(), &call{f: func(b *batch) error { // what is the committer's
		var err error
		idle, err = b.isIdle()
		return err
	}})
	return err == nil && idle
}

func (b *batch) isIdle() (bool, error) {
	if b.db.work || len(b.db.late) > 0 || b.db.queue.HasTasks() {
		return false, nil
	}
	for _, err := range b.Tx.Disconnects().All() {
		return false, fault.Broken(err)
	}
	if b.db.due == 0 {
		return true, nil
	}
	timers, err := store.Kept(b.Tx).Timers(1) // the node that is due may be gone
	return len(timers) == 0, fault.Broken(err)
}
