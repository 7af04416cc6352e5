package sync

import (
	"errors"
	"time"

	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/queue"
)

// stepAfter returns the rows of the step of background work that has to be done after so
// many batches without one; 0: of none. When a sender has just come, its batch is first, and
// the step after it has the rows of both.
func (c *committer) stepAfter(batches int) (rows int) {
	switch {
	case batches >= workEvery:
		return workRows
	case !c.behind || batches < workBehind:
		return 0
	case batches == workBehind && c.db.queue.HasNewcomer():
		return 0
	}
	return min(batches*behindRows, workRows)
}

// background does one step of reclaiming, of building indexes, of giving an older
// file its checksums and of building declared data. If stop is not
// nil, reclaiming ends soon after it says so.
func (c *committer) background(rows int, stop func() bool) {
	c.stalled = false
	err := fault.Guard(func() error {
		more, err := c.db.store.Reclaim(rows, stop)
		building, buildErr := c.db.store.Build(rows)
		upgrading, upgradeErr := c.db.store.Upgrade(rows)
		stepErr := c.stepData(building)
		sweepErr := c.sweepTimers(rows)
		sweeping := c.db.sweep.Some()
		c.db.work, c.behind = more || building || upgrading || sweeping || c.db.data.Load().Working(), more || sweeping
		return errors.Join(err, buildErr, upgradeErr, stepErr, sweepErr)
	})
	if err != nil {
		c.tellFailed("background work failed", err)
		c.observeCommit(nil, err)
		c.db.work, c.stalled = false, true // until the next write, so as not to spin
	}
}

// stepData does one step of building declared data, which is a commit like others. Lists that are
// bounded wait for their indexes.
func (c *committer) stepData(indexing bool) error {
	if indexing || !c.db.data.Load().Working() || c.db.held(c.stepped) {
		return nil
	}
	c.stepped = time.Now()
	t := &call{f: func(b *batch) error { return b.stepsOfData(stepNodes) }}
	t.start()
	c.commit([]task{t})
	return t.err
}

// sweepTimers looks at some timers of expiry, and deletes those whose nodes are gone.
func (c *committer) sweepTimers(timers int) error {
	if !c.db.sweep.Some() {
		return nil
	}
	var left declared.Sweep
	t := &call{f: func(b *batch) (err error) {
		changed := false
		left, changed, err = b.db.sweep.Step(b.Tx, b.data, timers)
		b.dirty = b.dirty || changed
		return fault.Broken(err)
	}}
	t.start()
	if c.commit([]task{t}); t.err == nil {
		c.db.sweep = left
	}
	return t.err
}

// Expiry may take the committer a quarter of its time. The clock is asked at least every
// maxUntilDue, as it may be set.
const (
	expiryShare = 4
	maxUntilDue = time.Second
)

// untilDue returns how long nothing expires.
func (c *committer) untilDue() time.Duration {
	if c.db.due == 0 {
		return queue.Forever
	}
	wait := time.UnixMilli(c.db.due).Sub(c.db.options.Now())
	return min(max(wait, time.Until(c.mayExpire), 0), maxUntilDue)
}

// expire removes nodes that are due, as a commit like others. Rules are not asked.
func (c *committer) expire() {
	began := time.Now()
	if c.db.due == 0 || began.Before(c.mayExpire) || c.db.options.Now().UnixMilli() < c.db.due {
		return
	}
	t := &call{f: func(b *batch) error {
		now := b.db.options.Now()
		f, next, err := b.data.Expire(b.Tx, now)
		if err != nil {
			return fault.Broken(err)
		}
		b.dirty = true
		b.db.due = next
		if f == nil {
			return nil
		}
		return b.changeByItself(f, now, causeExpire)
	}}
	t.start()
	c.commit([]task{t})
	c.mayExpire = began.Add(expiryShare * time.Since(began))
	if t.err != nil {
		c.mayExpire = began.Add(maxUntilDue)
		c.db.due = 1 // what was due still is; when other nodes are, the next attempt finds out
	}
}
