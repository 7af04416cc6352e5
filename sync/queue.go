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
	maxQueueTasks = 64 << 10
)

// A queue holds the tasks that wait for the committer. It is bounded in count
// and bytes; who wants to add more waits.
type queue struct {
	mu       sync.Mutex
	changed  sync.Cond // tasks were added or taken, or the queue was closed
	tasks    []task
	bytes    int64
	maxBytes int64
	waits    uint64 // tasks that had to wait to be added
	closed   bool
}

func newQueue(maxBytes int64) *queue {
	q := &queue{maxBytes: maxBytes}
	q.changed.L = &q.mu
	return q
}

// add queues a task, waiting for room. A task larger than the bound is taken
// when nothing else waits.
func (q *queue) add(ctx context.Context, t task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed && q.full(t.size()) {
		q.waits++
		stop := context.AfterFunc(ctx, q.wake)
		defer stop()
	}
	for !q.closed && q.full(t.size()) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		q.changed.Wait()
	}
	if q.closed {
		return ErrClosed
	}
	q.tasks = append(q.tasks, t)
	q.bytes += t.size()
	q.changed.Broadcast()
	return nil
}

func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.Broadcast()
}

func (q *queue) full(size int64) bool {
	return len(q.tasks) > 0 && (len(q.tasks) >= maxQueueTasks || q.bytes+size > q.maxBytes)
}

// forever is how long take waits until there is something.
const forever = time.Duration(math.MaxInt64)

// take returns the next batch, which may be empty if there is none for so long. It
// returns false when the queue is closed.
func (q *queue) take(wait time.Duration) (batch []task, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.await(wait)
	q.gather()
	if q.closed {
		return nil, false
	}
	var bytes int64
	n := 0
	for n < len(q.tasks) && n < maxBatchTasks && (n == 0 || bytes+q.tasks[n].size() <= maxBatchBytes) {
		bytes += q.tasks[n].size()
		n++
	}
	batch = append(batch, q.tasks[:n]...)
	rest := copy(q.tasks, q.tasks[n:])
	clear(q.tasks[rest:])
	q.tasks = q.tasks[:rest]
	q.bytes -= bytes
	q.changed.Broadcast()
	return batch, true
}

// await waits for a task, or for the queue to be closed, mu held.
func (q *queue) await(wait time.Duration) {
	began := time.Now() // before the timer, which must not be early
	if wait > 0 && wait != forever && len(q.tasks) == 0 {
		over := time.AfterFunc(wait, q.wake)
		defer over.Stop()
	}
	for len(q.tasks) == 0 && !q.closed && time.Since(began) < wait {
		q.changed.Wait()
	}
}

// hasTasks reports whether something waits to be taken.
func (q *queue) hasTasks() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.tasks) > 0
}

// maxGather is how often gather lets others run.
const maxGather = 16

// gather lets others that are ready to run go first, mu held, for as long as they
// add tasks. The first of many writers wakes the committer; without this, it would
// commit that one alone, and all others would wait for two syncs. It waits for
// nobody who is not ready, so a single writer does not notice.
func (q *queue) gather() {
	for round, before := 0, 0; round < maxGather && len(q.tasks) > before && len(q.tasks) < maxBatchTasks; round++ {
		before = len(q.tasks)
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
	left, q.tasks, q.bytes = q.tasks, nil, 0
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
		return ctx.Err() // the task may still take effect
	}
}
