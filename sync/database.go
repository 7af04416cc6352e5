package sync

import (
	"context"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// A Database is one tree with its rules and listeners, the only door to both.
// Its methods may be called by several goroutines at once. Its parts have their own state:
// the audience has the lock, and the committer's state belongs to its goroutine.
//
// Writes go through the queue to the committer. Reads open a snapshot and wait for nothing
// but their turn. Nothing else touches the store.
type Database struct {
	*core
	writer
	committer
	scrubber
	pushIDs tree.PushIDs
}

// BeginClose refuses new operations, and the queued writes that were not begun: they
// fail with ErrClosed and have no effect. The batch that is being committed and reads that
// are under way go on. BeginClose does not wait. It returns how many writes were queued.
func (d *Database) BeginClose() (refused int) {
	if d.closed.Swap(true) {
		return 0
	}
	d.endScrub()
	left := d.queue.Close(fault.ErrClosed)
	finishAll(left, fault.ErrClosed) // here, since the batch may wait for a disk
	return len(left)
}

// Close does what BeginClose does, waits for the batch that is being committed and for
// reads, and closes the file. What sessions left for their disconnect and was not begun
// stays in the file, and is carried out when it is opened again.
//
// It is safe to call it while writes come: they are refused with ErrClosed. The order
// matters: first the scrub and the committer end, then the file is closed, since an open
// snapshot would keep bbolt from unmapping it.
func (d *Database) Close() error {
	d.BeginClose()
	<-d.scrubbed
	<-d.done
	if !d.store.ReadOnly() {
		if err := store.SaveUses(d.store, true); err != nil {
			d.tellFailed("when indexes were last read was not saved", err)
		}
	}
	return d.store.Close()
}

// NextPushID returns a new push id, greater than all before it.
func (d *Database) NextPushID() string { return d.pushIDs.Next(d.options.Now()) }

// Check verifies every invariant of the database's store.
func (d *Database) Check() ([]error, error) { return d.store.Check() }

// Tail returns the entries of the database's log from a revision on, 0: from the oldest that
// there is. It must be closed. Errors: those of [store.Store.Tail], and of a database that is
// closed.
func (d *Database) Tail(from uint64) (*store.Tail, error) {
	if d.closed.Load() {
		return nil, fault.ErrClosed
	}
	return d.store.Tail(from)
}

// Setting returns a setting, "" if it was never set. It waits for nobody.
func (d *Database) Setting(name string) string { return (*d.settings.Load())[name] }

// SetSetting sets a setting, durably. There should be few of them, and small
// ones: they are stored as one.
func (d *Database) SetSetting(ctx context.Context, name, value string) error {
	return d.do(ctx, &call{bytes: len(name) + len(value), f: func(b *batch) error {
		stored, err := versions.Settings(b.Tx)
		if err != nil {
			return fault.Broken(err)
		}
		all := settings(stored)
		all[name] = value
		b.dirty = true
		b.notes.add(&entry.Setting{Name: name, Value: value})
		b.Committed = append(b.Committed, func() { b.db.settings.Store(&all) })
		return fault.Broken(versions.PutSettings(b.Tx, all))
	}})
}
