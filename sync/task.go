package sync

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/sync/queue"
	"github.com/dogwooddb/dogwood/sync/quota"
)

// A task is something that the committer does inside its transaction.
type task interface {
	size() int64          // bytes, for the bounds of the queue and of a batch
	apply(b *batch) error // a refusal leaves the transaction as it was; see broken
	finish(err error)     // called once, after the commit is durable and published
}

// A sender is a task that shares the committer with others: with those of its Quota,
// and within it in the order of its line. Any other task is alone.
type sender interface{ sender() (*quota.Quota, *line) }

type line = queue.Line[task]

// asItem returns a task as it is queued, and whose it is.
func asItem(t task) (quota *quota.Quota, item queue.Item[task]) {
	item = queue.Item[task]{Task: t, Size: t.size(), Cost: costOf(t)}
	if s, ok := t.(sender); ok {
		quota, item.Line = s.sender()
	}
	return quota, item
}

// add queues a task and blocks while the queue is full.
func (d *Database) add(ctx context.Context, t task) error {
	quota, item := asItem(t)
	return d.queue.Add(ctx, quota, item)
}

// do queues a task and waits until it is done.
func (d *Database) do(ctx context.Context, t interface {
	task
	wait(context.Context) error
	start()
}) error {
	t.start()
	if err := d.add(ctx, t); err != nil {
		return err
	}
	err := t.wait(ctx)
	if ctx.Err() != nil && d.closed.Load() { // the task ends soon: its outcome need not stay unknown
		return t.wait(context.WithoutCancel(ctx))
	}
	return err
}

// A call is a task that is one function of some bytes.
type call struct {
	waiter
	bytes int
	quota *quota.Quota  // in whose turn it is; nil: it is alone
	line  *line         // of the quota's; nil: none
	takes time.Duration // an estimate; 0: by its size
	f     func(b *batch) error
}

func (t *call) size() int64                   { return int64(taskOverhead + t.bytes) }
func (t *call) sender() (*quota.Quota, *line) { return t.quota, t.line }
func (t *call) apply(b *batch) error          { return t.f(b) }
func (t *call) cost() time.Duration           { return cmp.Or(t.takes, costOfSize(t.size())) }

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

// Estimates of the committer time that a task takes. They only order tasks until the
// time is measured, and bound a batch: they are about what a small machine needs.
const (
	costPath  = 10 * time.Microsecond // of each further path of an update
	costValue = 4 * time.Microsecond  // of each value beyond costFree bytes
	costKiB   = 4 * time.Microsecond
	costFree  = 1 << 10 // bytes of a path's value that cost nothing
)

// costOf returns the estimate of a task.
func costOf(t task) time.Duration {
	if t, ok := t.(interface{ cost() time.Duration }); ok {
		return t.cost()
	}
	return costOfSize(t.size())
}

func costOfSize(size int64) time.Duration {
	return queue.TaskCost + time.Duration(size>>10)*costKiB
}

// cost estimates a write from the values and paths that it has.
func (t *writeTask) cost() time.Duration {
	cost := queue.TaskCost
	for i, w := range t.write.Update {
		if i > 0 {
			cost += costPath
		}
		cost += costOfText(w.Value.Text())
	}
	return cost
}

// costOfText estimates a value from its JSON text. Commas in strings count as values: to
// tell them apart takes longer than this is worth.
func costOfText(text string) time.Duration {
	if len(text) <= costFree {
		return 0
	}
	return time.Duration(strings.Count(text, ","))*costValue + time.Duration(len(text)>>10)*costKiB
}
