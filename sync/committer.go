package sync

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/tree/store"
)

// Background work is done in small steps between commits, at the latest after
// so many of them.
const (
	workRows  = 512
	workEvery = 64
)

// A storageError is a failure of the store. The transaction is lost with it.
type storageError struct{ err error }

func (e *storageError) Error() string { return "storage: " + e.err.Error() }
func (e *storageError) Unwrap() error { return e.err }

// broken marks an error of apply as a failure of the store, not a refusal.
func broken(err error) error {
	if err == nil {
		return nil
	}
	return &storageError{err}
}

// ErrUnavailable is returned for writes that could not be made durable.
var ErrUnavailable = errors.New("the write could not be stored")

// A panicError is a panic that was turned into an error: a fault of ours, or of
// what we call, that must not take the database down with it.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// guarded calls f and turns a panic into a *panicError.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	return f()
}

// commitLoop is the committer: it commits batch after batch until the queue is
// closed and empty. While one batch is synced to the disk the next one gathers,
// so batches grow with the load and there is nothing to tune.
func (d *Database) commitLoop() {
	defer close(d.done)
	for since := 0; ; since++ {
		tasks, open := d.queue.take(!d.work)
		if !open {
			return
		}
		if len(tasks) > 0 {
			d.commit(tasks)
		}
		if d.work && (len(tasks) == 0 || since%workEvery == 0) {
			d.background()
		}
	}
}

// background does one step of reclaiming and of building indexes.
func (d *Database) background() {
	err := guarded(func() error {
		more, err := d.store.Reclaim(workRows)
		building, buildErr := d.store.Build(workRows)
		d.work = more || building
		return errors.Join(err, buildErr)
	})
	if err != nil {
		d.log.Error("background work failed", "database", d.store.String(), "err", err)
		d.work = false // until the next write, so as not to spin
	}
}

// A batch is one transaction with the tasks that are applied to it.
type batch struct {
	db        *Database
	ctx       context.Context
	tx        *store.Tx
	dirty     bool          // something was written
	record    []byte        // of the changes, for the log
	events    []delivery    // to be published in order
	committed []func()      // to be run after the commit
	saved     []savedWindow // windows as they were before the batch
	undo      []func()      // to be run if the batch does not commit, last first
	results   []error       // of the tasks
}

// commit applies the tasks to one transaction, commits it, publishes the events
// and finishes the tasks, in the order they came.
func (d *Database) commit(tasks []task) {
	d.mu.Lock()
	started := time.Now()
	b, err := d.applyAll(tasks)
	if err == nil {
		b.publish()
	}
	d.mu.Unlock()
	d.stats.batch(len(tasks), time.Since(started))
	for i, t := range tasks {
		if err != nil {
			t.finish(err)
		} else {
			t.finish(b.results[i])
		}
	}
}

// applyAll applies and commits. If the store fails or the program panics under
// one task, that one is left out and the others are tried again; if the commit
// itself fails, so do all of them.
func (d *Database) applyAll(tasks []task) (*batch, error) {
	failed := make(map[int]error)
	for {
		b, at, err := d.tryAll(tasks, failed)
		if err == nil {
			return b, nil
		}
		d.log.Error("commit failed", "database", d.store.String(), "tasks", len(tasks), "err", err)
		if at < 0 {
			return nil, unavailable(err)
		}
		failed[at] = unavailable(err)
	}
}

// unavailable is what a task fails with when err happened to it. A panic is
// nobody's hint to try again, so it stays what it is.
func unavailable(err error) error {
	if p := (*panicError)(nil); errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// tryAll makes one attempt. An error comes with the index of the task to blame,
// or -1.
func (d *Database) tryAll(tasks []task, failed map[int]error) (b *batch, at int, err error) {
	tx, err := d.store.Begin(true)
	if err != nil {
		return nil, -1, err
	}
	defer tx.Rollback()
	b = &batch{db: d, ctx: context.Background(), tx: tx, results: make([]error, len(tasks))}
	defer func() {
		if err != nil {
			b.rollback()
		}
	}()
	for i, t := range tasks {
		if b.results[i] = failed[i]; failed[i] != nil {
			continue
		}
		b.results[i] = guarded(func() error { return t.apply(b) })
		if isBroken(b.results[i]) {
			return b, i, b.results[i]
		}
	}
	if !b.dirty {
		return b, -1, nil
	}
	return b, -1, guarded(b.commit)
}

func (b *batch) commit() error {
	if len(b.record) > 0 {
		revision, err := b.db.options.Change.Append(b.ctx, b.db.store.String(), b.tx.Revision(), b.record)
		if err != nil {
			return err
		}
		b.tx.SetRevision(revision)
		if err := b.tx.Journal(revision, b.record); err != nil {
			return err
		}
	}
	return b.tx.Commit()
}

// rollback puts back what tasks changed outside of the transaction.
func (b *batch) rollback() {
	b.restoreWindows()
	for _, f := range slices.Backward(b.undo) {
		f()
	}
}

// isBroken reports whether an error of apply costs the transaction.
func isBroken(err error) bool {
	var storage *storageError
	var panicked *panicError
	return errors.As(err, &storage) || errors.As(err, &panicked)
}

// publish queues the events for their listeners. It holds no lock that a slow
// consumer could hold.
func (b *batch) publish() {
	for _, e := range b.events {
		for _, l := range e.group.listeners {
			l.out.pushEvent(l, e.event)
		}
		b.db.stats.events.Add(uint64(len(e.group.listeners)))
	}
	for _, f := range b.committed {
		f()
	}
}
