package sync

import (
	"errors"
	"time"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// A late task is one that no client sends again: what a session left for its disconnect,
// and what a start has to write. If the store fails under it, it is tried again as soon as
// commits work, which is found out in front of later writes, and at least every probeEvery.
// Until then its record stays in the file, so the next start finds it, too.
//
// What a start has to write is carried out before everything else. The others go back to the
// front of the queue, and take turns there: so they come before later writes of the same
// session or address, and many of one address do not hold up others.

// maxTries bounds how often a task is tried again: the store may fail for its records
// alone.
const maxTries = 100

// A retry is the part of a late task that counts its tries. After the first try, those do not count
// that fail because the disk is full, or because this version refuses the rules or the data document:
// they succeed when that is mended, however long it takes. Tasks that wait for other rules or another
// data document are on a shelf until there is one: each try before would fail for the same cost.
type retry struct{ tries int }

// again has t tried again if the store failed under it, and reports whether.
func (r *retry) again(d *core, t task, err error) bool {
	if r.tries == 0 || !waits(err) && !errors.Is(err, errBehind) {
		r.tries++
	}
	failed := errors.Is(err, fault.ErrUnavailable) || errors.Is(err, fault.ErrUnknown)
	if !failed || r.tries > maxTries {
		return false
	}
	if waitsForText(err) {
		d.shelf = append(d.shelf, t)
	} else {
		d.late = append(d.late, t)
	}
	return true
}

// commitLate has late tasks carried out. While the store fails it tries a write of its own
// first, which costs less, and if there are writes that came later (queued), it does so in
// front of each batch of them. Otherwise it is the late tasks that fail, and they are tried
// now and then. If a text has come in force in place of one that was refused, the operations
// on the shelf are carried out in front of the next batch, too: so before any write that the
// new text allows.
func (c *committer) commitLate(queued bool) {
	first := queued && c.db.stats.failing.Load() || c.db.hurry
	if c.db.hurry {
		unshelve(c.db)
	}
	c.db.hurry = false
	if len(c.db.late) == 0 || !first && time.Since(c.lateTried) < probeEvery {
		return
	}
	c.lateTried = time.Now()
	if !c.probe() {
		return
	}
	late := c.db.late
	c.db.late = nil
	if start, ok := late[0].(*startTask); ok { // the first of all
		c.commit([]task{start})
		late = late[1:]
	}
	if c.db.stats.failing.Load() {
		c.db.late = append(c.db.late, late...)
		return
	}
	c.putBack(late)
}

// putBack has late operations of sessions take their turns.
func (c *committer) putBack(late []task) {
	if len(late) == 0 {
		return
	}
	for _, t := range late {
		t.(*disconnectTask).session.late--
	}
	if !c.db.queue.PutBack(late, asItem) {
		finishAll(late, fault.ErrClosed)
	}
}

// probe reports whether commits work, as far as is known. It is the committer's.
func (c *committer) probe() bool {
	if !c.db.stats.failing.Load() {
		return true
	}
	err := fault.Guard(func() error { return c.db.store.Update(writeProbe) })
	c.observeCommit(&batch{dirty: true}, err)
	return err == nil
}

// writeProbe writes something without meaning.
func writeProbe(tx *store.Tx) error {
	return tx.SetMeta(metaProbe, []byte(time.Now().UTC().Format(time.RFC3339Nano)))
}

// A startTask declares the indexes of the rules that a database is opened with, and
// fills a new one with the sample.
//
// It comes before everything else, because queries depend on its indexes, and because the
// sample is for a database without commits.
type startTask struct {
	retry
	db  *core
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
	if err := b.Tx.Indexes().Declare(indexesOf(b.Rules, b.data.Indexes())); err != nil {
		return fault.Broken(err)
	}
	if !t.wantsSample(b.Tx) {
		return nil
	}
	sample := t.db.options.Sample()
	b.notes.add(&entry.Write{Writes: []tree.ResolvedWrite{{Node: sample}}, By: by(Admin, "", causeSample)})
	_, err := b.Tx.Put(tree.Root, sample)
	return fault.Broken(err)
}

func (t *startTask) wantsSample(tx *store.Tx) bool {
	return tx.Revision() == 0 && t.db.options.Sample != nil
}

// probeEvery is how often a store that failed is tried without a write that
// somebody asked for.
const probeEvery = time.Second

// metaProbe is where a probe writes to.
const metaProbe = "probe"
