package sync

import (
	"context"

	"github.com/dogwooddb/dogwood/sync/fault"
)

// Idle reports whether the database can be closed without anybody noticing, and opened again:
// it has a file that works, which has all that was committed; there are no listeners, no
// operations on record for a disconnect, and no work in the background. The caller sees to it that nothing
// begins meanwhile.
func (d *Database) Idle() bool {
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
	return true, nil
}
