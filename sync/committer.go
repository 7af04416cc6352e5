package sync

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/queue"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Background work is done in small steps between commits, at the latest after so many of them.
// A write that comes during a step waits for its end. A client that has just been answered is
// likely to write again, so there is a pause before the first step. If a step has left
// something to reclaim, the next one comes sooner and is smaller: otherwise a client that keeps
// replacing large values could fill the disk faster than their space is reclaimed. A sender that
// has just come goes before one such step: it waits for the batch or the step that has begun,
// and for its own batch, not for all three.
const (
	workRows   = 512
	workEvery  = 64
	workBehind = 1
	behindRows = 256 // of a step after workBehind batches
	workAfter  = time.Millisecond
)

// A committer changes a database. Its state belongs to one goroutine, commitLoop; it takes
// the lock of the audience while a batch is applied, committed and published.
//
// A batch is applied, committed and published under the lock of the audience. So a
// listener that is attached under that lock sees either all of a commit or nothing of it:
// the events that are queued behind its first view are exactly those of later commits. The
// price is that attaching waits for the sync of the batch that is under way.
//
// To decide the next batch during the commit of this one was tried and left out (logged.Store).
type committer struct {
	db   *core
	done chan struct{} // closed when commitLoop has ended

	mayExpire time.Time // when nodes may expire again
	stepped   time.Time // when declared data were built last

	behind  bool            // the last step has left something to reclaim
	stalled bool            // background work failed
	reviews bool            // there are stale grants
	notes   notes           // of the batch
	wrote   time.Duration   // that the last batch took to be written
	took    []time.Duration // memory for what the tasks of the next batch take
	results []error         // and for their errors
	supply  supply          // memory for the tasks of the next batch

	lateTried time.Time     // when late was tried last
	rowsRead  int           // by batches; tests look at it
	batchTime time.Duration // minBatchTime, but in tests
}

// commitLoop is the committer: it commits batch after batch until the queue is closed. While one
// is synced to the disk the next one gathers, so batches grow with the load.
func (c *committer) commitLoop() {
	defer close(c.done)
	pause := time.Duration(0)
	for since := 1; ; since++ { // batches since the last step
		switch {
		case c.reviews:
			pause = 0
		case !c.db.work && len(c.db.late) > 0:
			pause = probeEvery
		case !c.db.work:
			pause = c.untilDue()
		}
		some, open := c.db.queue.Take(pause)
		if !open {
			finishAll(c.db.late, fault.ErrClosed)
			return
		}
		c.commitLate(some)
		c.commitQueued()
		c.expire()
		pause = workAfter
		c.reviewSome()
		switch {
		case !c.db.work:
			since = 0
		case c.reviews && !some:
		case !some:
			c.background(workRows, c.db.queue.HasTasks)
			pause, since = 0, 0
			if c.db.held(c.stepped) {
				pause = heldPause
			}
		default:
			if rows := c.stepAfter(since); rows > 0 {
				c.background(rows, nil)
				since = 0
			}
		}
	}
}

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

// background does one step of reclaiming, of building indexes, of giving an older file its checksums,
// of building declared data, and of saving how indexes are used. If stop is not nil, reclaiming ends soon after it says so.
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
		return errors.Join(err, buildErr, upgradeErr, stepErr, sweepErr, store.SaveUses(c.db.store, false))
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
	save := untilSaveUses(c.db)
	if c.db.due == 0 {
		return save
	}
	wait := time.UnixMilli(c.db.due).Sub(c.db.options.Now())
	return min(max(wait, time.Until(c.mayExpire), 0), maxUntilDue, save)
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

// maxBatchDeliveries bounds what one batch has to tell listeners: writes wait while that is queued.
// A write above many listeners makes an event for each of their views, or one for all of them.
const maxBatchDeliveries = 16 << 10

// A batch may be applied for minBatchTime, or for writeShare times as long as the
// last one took to be written if that is more, and at most for maxBatchTime; what is left
// over comes next. So writing costs a fraction of applying, and the first of many are told while
// the last are still being applied: neither the committer nor the readers wait for the other's
// part of the work to end.
const (
	minBatchTime = 500 * time.Microsecond
	maxBatchTime = 25 * time.Millisecond
	writeShare   = 4
)

// A supply is the tasks of a batch: those that were given, and then those that next takes
// from the queue while there is time for them. Tasks are taken one by one, so those that
// there is no time for stay in the queue, where their turn may change.
type supply struct {
	tasks  []task
	queued []queue.Item[task]
	next   func(grow bool) (queue.Item[task], bool) // nil: no more
}

// at returns task i, if there is one. grow is for next.
func (s *supply) at(i int, grow bool) (t task, ok bool) {
	if i == len(s.tasks) && s.next != nil {
		q, ok := s.next(grow)
		if !ok {
			return nil, false
		}
		s.queued = append(s.queued, q)
		s.tasks = append(s.tasks, q.Task)
	}
	if i < len(s.tasks) {
		return s.tasks[i], true
	}
	return nil, false
}

// drop takes the first n tasks away, which are done.
func (s *supply) drop(n int) {
	s.tasks = slices.Delete(s.tasks, 0, n)
	if len(s.queued) > 0 {
		s.queued = slices.Delete(s.queued, 0, n)
	}
}

// commitQueued carries out the batch that the queue has begun.
func (c *committer) commitQueued() (committed bool) {
	s := &c.supply
	s.next = c.db.queue.Next
	for _, some := s.at(0, false); some; _, some = s.at(0, false) {
		committed = c.commitSome(s) || committed
		s.next = nil // the rest has been taken: a task failed and cost the batch its time
	}
	return committed
}

// finishAll finishes tasks that have failed, or were never begun.
func finishAll(tasks []task, err error) {
	for _, t := range tasks {
		t.finish(err)
	}
}

// commit carries out the tasks and finishes them, in the order they came. It
// reports whether anything was committed.
func (c *committer) commit(tasks []task) (committed bool) {
	for s := (supply{tasks: tasks}); len(s.tasks) > 0; {
		committed = c.commitSome(&s) || committed
	}
	return committed
}

// commitSome carries out one batch of the tasks, takes them out of the supply and
// finishes them.
//
// Each task gets its own answer, but only when all of the batch is durable. Queued tasks
// are charged with the time that the batch took, which is what their addresses take turns
// by.
func (c *committer) commitSome(s *supply) (committed bool) {
	b, err := (*batch)(nil), error(fault.ErrClosed)
	if !c.db.closed.Load() {
		b, err = c.commitBatch(s)
	}
	if err != nil {
		finishAll(s.tasks, err)
		s.drop(len(s.tasks))
		return false
	}
	if len(s.queued) > 0 {
		c.db.queue.Charge(s.queued, b.took)
	}
	for i, err := range b.results {
		if err == nil && b.moved != nil {
			err = fault.Unavailable(b.moved)
		}
		s.tasks[i].finish(err)
	}
	s.drop(len(b.results))
	clear(b.results)
	return b.dirty
}

// commitBatch applies tasks to one transaction, commits it and publishes the
// events. It stops before the last task if there are too many events or it takes
// too long.
func (c *committer) commitBatch(s *supply) (*batch, error) {
	c.db.audience.Lock()
	defer c.db.audience.Unlock()
	started := time.Now()
	b, err := c.applyAll(s)
	c.reviews = c.db.audience.IsStale()
	if err == nil {
		c.rowsRead += b.Tx.Stats().Read
		c.db.stats.published.Add(uint64(b.Events()))
		c.db.stats.events.Add(uint64(b.Publish()))
		total := time.Since(started)
		b.share(total)
		c.db.stats.batch(len(b.results), total, b.writing)
	}
	return b, err
}

// share adds to the time that each task took its share of the time that all of them took
// together, such as that of the commit.
func (b *batch) share(total time.Duration) {
	var applying time.Duration
	for _, took := range b.took {
		applying += took
	}
	if applying <= 0 {
		return
	}
	factor := float64(total) / float64(applying)
	for i, took := range b.took {
		b.took[i] = time.Duration(float64(took) * factor)
	}
}

// applyAll applies and commits. If the store fails or the program panics under
// one task, that one is left out and the others are tried again; if the commit
// itself fails, so do all of them.
//
// It repeats the whole batch when one task breaks it: the transaction may be
// half changed then, and it has no savepoints. That costs as many attempts as
// there are tasks that break, which is rare: only a failing store or a panic
// does.
func (c *committer) applyAll(s *supply) (*batch, error) {
	failed := make(map[int]error)
	for {
		b, at, err := c.tryAll(s, failed)
		failure := err
		if err == nil {
			failure = b.moved
		}
		if failure != nil {
			c.tellFailed("commit failed", failure, "tasks", len(s.tasks))
		}
		c.observeCommit(b, failure)
		if err == nil {
			return b, nil
		}
		if at < 0 {
			return nil, fault.Unavailable(err)
		}
		failed[at] = fault.Unavailable(err)
	}
}

// tryAll makes one attempt. An error comes with the index of the task to blame,
// or -1.
//
// A refusal by the rules is no failure: it is the result of the task, and the
// batch goes on. The loop ends when the time, the events or the entry of the
// log is used up; the first task is always applied, however long it takes.
func (c *committer) tryAll(s *supply, failed map[int]error) (b *batch, at int, err error) {
	tx, err := c.db.store.Begin(true)
	if err != nil {
		return nil, -1, err
	}
	defer tx.Rollback()
	b = &batch{
		Batch:   audience.Batch{Audience: c.db.audience, Ctx: context.Background(), Tx: tx, Rules: c.db.rules.Load()},
		db:      c.db,
		data:    c.db.data.Load(),
		hashes:  &c.db.hashes,
		notes:   &c.notes,
		results: c.results[:0],
		took:    c.took[:0],
	}
	c.notes.reset(tx)
	defer func() {
		c.took, c.results = b.took, b.results
		if err != nil {
			b.Rollback()
		}
	}()
	started, most := time.Now(), max(c.batchTime, min(writeShare*c.wrote, maxBatchTime))
	for i, spent := 0, time.Duration(0); b.Deliveries() <= maxBatchDeliveries && (i == 0 || spent <= most && !c.notes.full()); i++ {
		t, ok := s.at(i, b.Events() == 0)
		if !ok {
			break
		}
		err, tried := failed[i]
		if !tried {
			b.budget = rules.Budget{}
			err = fault.Guard(func() error { return t.apply(b) })
		}
		if !tried && fault.IsBroken(err) {
			return b, i, err
		}
		b.results = append(b.results, err)
		now := time.Since(started)
		b.took = append(b.took, now-spent)
		spent = now
	}
	if !b.dirty {
		return b, -1, nil
	}
	return b, -1, fault.Guard(func() error { return c.finishBatch(b) })
}

// finishBatch makes a batch durable.
//
// The order is: the entries of the log are sealed, which gives the batch its
// revision, and then the transaction is committed with them. When it returns
// nil, everything of the batch is on the disk. The answers and events come
// after that, never before.
//
// If the file was moved during the commit, the outcome is unknown, and the tasks are told so.
// But the store goes on from the commit, and readers see it: so the batch is published.
func (c *committer) finishBatch(b *batch) error {
	if err := b.notes.seal(b); err != nil {
		return err
	}
	before := b.db.store.WriteTime()
	err := b.Tx.Commit()
	b.db.work = b.db.store.TakeWork() || b.db.work || c.stalled
	b.writing = b.db.store.WriteTime() - before
	c.wrote = b.writing
	if errors.Is(err, store.ErrMoved) {
		b.moved, err = err, nil
	}
	return err
}

// reviewSome decides a slice of the stale grants. If that fails, the next batch brings the
// next slice.
func (c *committer) reviewSome() {
	if !c.reviews {
		return
	}
	t := &call{f: func(b *batch) error { b.ReviewSlice(); return nil }}
	t.start()
	c.commit([]task{t})
	c.reviews = c.reviews && t.err == nil
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
