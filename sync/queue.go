package sync

import (
	"context"
	"math"
	"runtime"
	"sync"
	"time"
)

// A task is something that the committer does inside its transaction.
type task interface {
	size() int64          // bytes, for the bounds of the queue and of a batch
	apply(b *batch) error // a refusal leaves the transaction as it was; see broken
	finish(err error)     // called once, after the commit is durable and published
}

// Bounds of one batch. They keep a commit short; whatever waits comes next.
const (
	maxBatchTasks = 1024
	maxBatchBytes = 4 << 20
	maxBatchCost  = 20 * time.Millisecond // by the estimates of its tasks
	maxQueueTasks = 64 << 10
)

// maxParties is how many parties without a task are remembered, for what they have used.
const maxParties = 1024

// A queue holds the tasks that wait for the committer. It is bounded in count
// and bytes: when it is full, senders block. The tasks of one sender are taken in the
// order in which they came; among senders it is fair (see fair.go).
type queue struct {
	mu       sync.Mutex
	changed  sync.Cond // tasks were added or taken, or the queue was closed
	parties  schedule
	of       map[*Quota]*party
	count    int // tasks that wait
	bytes    int64
	maxBytes int64
	waits    uint64 // tasks that had to wait to be added
	blocked  int    // senders that wait now
	closed   bool
	batch    batchBounds
}

// batchBounds counts what was taken for a batch.
type batchBounds struct {
	most  int // tasks that waited when it began; later ones gather while it is synced
	tasks int
	bytes int64
	cost  time.Duration
}

func newQueue(maxBytes int64) *queue {
	q := &queue{maxBytes: maxBytes, of: make(map[*Quota]*party)}
	q.changed.L = &q.mu
	return q
}

// A sender is a task that shares the committer with others: with those of its Quota,
// and within it in the order of its line. Any other task is alone.
type sender interface{ sender() (*Quota, *line) }

// add queues a task and blocks while the queue is full. A task larger than the bound is
// taken when nothing else waits. Once ctx has ended, add queues nothing.
func (q *queue) add(ctx context.Context, t task) error {
	item := queuedTask{task: t, size: t.size(), cost: costOf(t)}
	quota := (*Quota)(nil)
	if s, ok := t.(sender); ok {
		quota, item.line = s.sender()
	}
	if item.line == nil {
		item.line = new(line)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed && q.full(quota, item.size) {
		q.waits++
		stop := context.AfterFunc(ctx, q.wake)
		defer stop()
	}
	for !q.closed && ctx.Err() == nil && q.full(quota, item.size) {
		q.blocked++
		q.changed.Wait()
		q.blocked--
	}
	if q.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	q.push(q.party(quota, item.line), item)
	q.changed.Broadcast()
	return nil
}

func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.Broadcast()
}

// full reports whether a task has to wait. The party of a Quota leaves at least as much
// room as it has to all others, so that none can fill the queue.
func (q *queue) full(quota *Quota, size int64) bool {
	if q.count == 0 {
		return false
	}
	if q.count >= maxQueueTasks || q.bytes+size > q.maxBytes {
		return true
	}
	p := q.of[quota]
	return p != nil && p.count > 0 && (p.count >= maxQueueTasks-q.count || p.bytes+size > q.maxBytes-q.bytes)
}

// party returns the party of a Quota, or that of a sender that has none. mu is held.
func (q *queue) party(quota *Quota, l *line) *party {
	if quota == nil {
		return &l.alone
	}
	p := q.of[quota]
	if p == nil {
		q.forget()
		p = new(party)
		q.of[quota] = p
	}
	return p
}

// forget forgets parties without a task if there are many: those that have used no more
// than their share, or else all of them. mu is held.
func (q *queue) forget() {
	for _, all := range []bool{false, true} {
		if len(q.of) < maxParties {
			return
		}
		for quota, p := range q.of {
			if p.count == 0 && (all || !q.parties.owes(&p.turn)) {
				delete(q.of, quota)
			}
		}
	}
}

// push adds a task of a party. mu is held.
func (q *queue) push(p *party, t queuedTask) {
	if q.count == 0 {
		q.parties.rest()
	}
	p.push(t)
	q.count++
	q.bytes += t.size
	if p.owner = p; !p.ready {
		q.parties.enter(&p.turn, p.cost())
	} else {
		q.parties.reprice(&p.turn, p.cost())
	}
}

// pop takes the task whose turn it is. There is one. mu is held.
func (q *queue) pop() queuedTask {
	p := q.parties.next().owner.(*party)
	t := p.pop()
	q.count--
	q.bytes -= t.size
	if p.count == 0 {
		q.parties.took(0, false)
	} else {
		q.parties.took(p.cost(), true)
	}
	return t
}

// maxDebt bounds how far one task can set back its sender.
const maxDebt = time.Second

// charge corrects the estimates of tasks that were taken by what they took.
func (q *queue) charge(tasks []queuedTask, took []time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, t := range tasks[:len(took)] {
		by := min(took[i], maxDebt) - t.cost
		p := t.line.party
		p.lines.correct(&t.line.turn, by)
		q.parties.correct(&p.turn, by)
		if p.ready {
			q.parties.reprice(&p.turn, p.cost())
		}
	}
}

// forever is how long take waits until there is something.
const forever = time.Duration(math.MaxInt64)

// take begins a batch: it waits for a task at most so long, and lets others be added.
// It returns false when the queue is closed.
func (q *queue) take(wait time.Duration) (some, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.await(wait)
	q.gather()
	q.batch = batchBounds{most: min(q.count, maxBatchTasks)}
	return q.count > 0, !q.closed
}

// next takes the next task of the batch that take began, if there is one and it fits.
func (q *queue) next() (t queuedTask, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == 0 || q.batch.tasks > 0 && !q.fits(q.first()) {
		return t, false
	}
	t = q.pop()
	q.batch.tasks++
	q.batch.bytes += t.size
	q.batch.cost += t.cost
	if q.blocked > 0 {
		q.changed.Broadcast()
	}
	return t, true
}

// first returns the task whose turn it is. There is one. mu is held.
func (q *queue) first() queuedTask {
	p := q.parties.next().owner.(*party)
	return p.lines.next().owner.(*line).first()
}

// fits reports whether the batch has room for a task. mu is held.
func (q *queue) fits(t queuedTask) bool {
	b := q.batch
	return b.tasks < b.most && b.bytes+t.size <= maxBatchBytes && b.cost+t.cost <= maxBatchCost
}

// await waits for a task, or for the queue to be closed, mu held.
func (q *queue) await(wait time.Duration) {
	began := time.Now() // before the timer, which must not be early
	if wait > 0 && wait != forever && q.count == 0 {
		over := time.AfterFunc(wait, q.wake)
		defer over.Stop()
	}
	for q.count == 0 && !q.closed && time.Since(began) < wait {
		q.changed.Wait()
	}
}

// hasTasks reports whether something waits to be taken.
func (q *queue) hasTasks() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count > 0
}

// maxGather is how often gather lets others run.
const maxGather = 16

// gather lets others that are ready to run go first, mu held, for as long as they
// add tasks. The first of many writers wakes the committer; without this, it would
// commit that one alone, and all others would wait for two syncs. It waits for
// nobody who is not ready, so a single writer does not notice.
func (q *queue) gather() {
	for round, before := 0, 0; round < maxGather && q.count > before && q.count < maxBatchTasks; round++ {
		before = q.count
		q.mu.Unlock()
		runtime.Gosched()
		q.mu.Lock()
	}
}

// close refuses new tasks and returns those that are left.
func (q *queue) close() (left []task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for q.count > 0 {
		left = append(left, q.pop().task)
	}
	q.changed.Broadcast()
	return left
}

// do queues a task and waits until it is done.
func (d *Database) do(ctx context.Context, t interface {
	task
	wait(context.Context) error
	start()
}) error {
	t.start()
	if err := d.queue.add(ctx, t); err != nil {
		return err
	}
	err := t.wait(ctx)
	if ctx.Err() != nil && d.closed.Load() { // the task ends soon: its outcome need not stay unknown
		return t.wait(context.WithoutCancel(ctx))
	}
	return err
}

// A waiter is the part of a task that somebody waits for.
type waiter struct {
	done chan struct{}
	err  error
}

func (w *waiter) start() { w.done = make(chan struct{}) }

func (w *waiter) finish(err error) {
	w.err = err
	close(w.done)
}

func (w *waiter) wait(ctx context.Context) error {
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
	}
	select {
	case <-w.done: // both have happened: the outcome is known
		return w.err
	default:
		return ctx.Err() // the task may still take effect
	}
}
