package sync

import (
	"errors"
	"time"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A late task is one that nobody sends again: what a session left for its disconnect,
// and what a start has to write. If the store fails under it, it is tried again before
// later writes are carried out, and at least every probeEvery. Until then its record
// stays in the file, so the next start finds it, too.

// maxTries bounds how often a task is tried again: the store may fail for its records
// alone.
const maxTries = 100

// A retry is the part of a late task that counts its tries.
type retry struct{ tries int }

// again has t tried again if the store failed under it.
func (r *retry) again(d *Database, t task, err error) {
	if r.tries == 0 || !store.NoRoom(err) {
		r.tries++
	}
	if failed := errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnknown); failed && r.tries <= maxTries {
		d.late = append(d.late, t)
	}
}

// commitLate carries out what is late. While the store fails it tries a write of its own
// first, which costs less, and if there are writes that came later (queued), it does so in
// front of each batch of them. Otherwise it is the late tasks that fail, and they are tried
// now and then.
func (d *Database) commitLate(queued bool) {
	first := queued && d.stats.failing.Load()
	if len(d.late) == 0 || !first && time.Since(d.lateTried) < probeEvery {
		return
	}
	d.lateTried = time.Now()
	if d.probe() {
		late := d.late
		d.late = nil
		d.commit(late)
	}
}

// probe reports whether commits work, as far as is known. It is the committer's.
func (d *Database) probe() bool {
	if !d.stats.failing.Load() {
		return true
	}
	err := guarded(func() error { return d.store.Update(writeProbe) })
	d.observeCommit(&batch{dirty: true}, err)
	return err == nil
}

// writeProbe writes something without meaning.
func writeProbe(tx *store.Tx) error {
	return tx.SetMeta(metaProbe, []byte(time.Now().UTC().Format(time.RFC3339Nano)))
}

// A startTask declares the indexes of the rules that a database is opened with, and
// fills a new one with the sample.
type startTask struct {
	retry
	db  *Database
	err error // of the first try
}

func (t *startTask) size() int64 { return taskOverhead }

func (t *startTask) finish(err error) {
	if t.tries == 0 {
		t.err = err
	}
	t.again(t.db, t, err)
}

func (t *startTask) apply(b *batch) error {
	b.dirty = true
	if err := b.tx.Declare(indexesOf(b.rules)); err != nil {
		return broken(err)
	}
	if !t.db.wantsSample(b.tx) {
		return nil
	}
	b.tx.SetRevision(1)
	_, err := b.tx.Put(tree.Root, t.db.options.Sample())
	return broken(err)
}

func (d *Database) wantsSample(tx *store.Tx) bool {
	return tx.Revision() == 0 && d.options.Sample != nil
}

// writeDue carries out a startTask if it has something to do, before the committer begins.
// The error is of store.NoRoom if it is late.
func (d *Database) writeDue() error {
	due := false
	err := d.store.View(func(tx *store.Tx) error {
		declared, err := tx.Declared(indexesOf(d.rules.Load()))
		due = !declared || d.wantsSample(tx)
		return err
	})
	if err != nil || !due {
		return err
	}
	t := &startTask{db: d}
	d.commit([]task{t})
	return t.err
}
