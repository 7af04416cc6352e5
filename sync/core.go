package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/fingerprint"
	"github.com/dogwooddb/dogwood/sync/queue"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/sync/watch"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A core is what the parts of a database share. It depends on none of them, so each part can
// be read with the core alone. Its fields are set when the database is opened, and any goroutine
// may use them, except those that a comment gives to one goroutine or to a lock. The
// rules, the data document, the settings and closed change later and are atomic: readers never wait for a commit.
type core struct {
	store    *store.Store
	options  Options
	log      *slog.Logger
	rules    atomic.Pointer[rules.Ruleset]
	data     atomic.Pointer[declared.Data] // nil: none was given
	settings atomic.Pointer[settings]
	queue    *queue.Queue[task, *quota.Quota]
	closed   atomic.Bool // Close has begun
	logs     bool        // there is a log that takes what clients can observe of commits
	stats    counters

	access   access.Access
	watchers trace.Watchers
	audience *audience.Audience
	hashes   fingerprint.Cache // the lock of the audience guards it, but for Has

	work  bool             // there may be something to reclaim or to build; the committer's
	late  []task           // see retry; the committer's
	shelf []task           // late operations that wait for a text that this version accepts; the committer's
	hurry bool             // late operations are to be tried at once, those on the shelf too; the committer's
	asked map[string]error // see askAgain; the committer's
	due   int64            // when a node of declared data may expire, in milliseconds since 1970; 0: never; the committer's

	sweep declared.Sweep // of timers whose nodes are gone; the committer's

	holds atomic.Int32 // large writes that the building of declared data waits for
}

// Building changes what large writes are decided from, step after step. So it waits for those that had
// to be decided again, but clients choose how many of them there are: at least each holdMost there is a
// step.
const (
	holdMost  = 10 * time.Second
	heldPause = 10 * time.Millisecond // until the committer looks again
)

// held reports whether building waits for large writes. The last step of it was at a time.
func (d *core) held(last time.Time) bool { return d.holds.Load() > 0 && time.Since(last) < holdMost }

// A task is something that the committer does inside its transaction.
//
// apply may be called several times: an attempt that fails under another task,
// or whose commit fails, is repeated without that task. So it must set back
// what an earlier attempt left in the task, and register in Undo what it
// changes outside of the transaction. finish is called exactly once, by the
// committer, in the order of the tasks. It must not block, since all later
// writes wait for it.
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
func (d *core) add(ctx context.Context, t task) error {
	quota, item := asItem(t)
	return d.queue.Add(ctx, quota, item)
}

// do queues a task and waits until it is done.
func (d *core) do(ctx context.Context, t interface {
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
//
// It is for the rare tasks: settings, probes, slices of loads, pieces for the
// log. Writes have types of their own, which know how to be compared, prepared
// and traced.
type call struct {
	waiter
	bytes int
	quota *quota.Quota  // in whose turn it is; nil: it is alone
	line  *line         // of the quota's; nil: none
	takes time.Duration // an estimate; 0: by its size
	f     func(b *batch) error
}

func (t *call) size() int64 { return int64(taskOverhead + t.bytes) }

func (t *call) sender() (*quota.Quota, *line) { return t.quota, t.line }

func (t *call) apply(b *batch) error { return t.f(b) }

func (t *call) cost() time.Duration { return cmp.Or(t.takes, costOfSize(t.size())) }

// A waiter is the part of a task that somebody waits for.
//
// A caller that gives up does not take the task back. So its error says nothing
// about the outcome, unless the task has ended by then.
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

const costPath = 10 * time.Microsecond // of each further path of an update

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

// taskOverhead is what a task without data counts for in the bounds of the
// queue.
const taskOverhead = 256

// A batch is one transaction with the tasks that are applied to it.
//
// It lives for one attempt. A task decides and writes through it: it sees what
// the tasks before it have written, and what it writes is seen by those behind
// it. Its changes elsewhere go to Undo, or to Committed if they are to take
// effect only when the commit is durable.
type batch struct {
	audience.Batch
	db      *core
	data    *declared.Data // in force for the next task
	hashes  *fingerprint.Cache
	dirty   bool            // something was written
	notes   *notes          // of the changes, for the log; nil: they are not committed
	noted   *watch.Reader   // of Tx, what decisions are made of; nil: Tx is
	request rules.Request   // of the task that is decided
	budget  rules.Budget    // of the task: of all decisions that it takes
	few     bool            // of the task: no more may follow from it than mostWithin
	results []error         // of the tasks that were applied
	took    []time.Duration // by each of them; in memory that the committer uses again
	writing time.Duration   // spent by the store to write and sync
	moved   error           // an ErrMoved of the store; nil: the file was in its place
	last    bool            // the next task comes in another batch
	partly  bool            // the audience is a part of those that the write concerns
}

// reader returns what the decisions of the batch are made of.
func (b *batch) reader() tree.Reader {
	if b.noted != nil {
		return b.noted
	}
	return b.Tx
}

// begin begins a read transaction.
func (d *core) begin() (*store.Tx, error) {
	if d.closed.Load() {
		return nil, fault.ErrClosed
	}
	tx, err := d.store.Begin(false)
	if err != nil && d.closed.Load() {
		return nil, fault.ErrClosed
	}
	return tx, err
}

// snapshot calls f with a read transaction.
func (d *core) snapshot(f func(*store.Tx) error) error {
	tx, err := d.begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return f(tx)
}

// view runs f on the current state if the caller may read what r says.
//
// The rules are asked in the same snapshot that is read, so the answer belongs
// to the state that the permission was decided for.
func (d *core) view(ctx context.Context, r Read, f func(*store.Tx) (int, error)) (bytes int, err error) {
	return d.viewUndecided(ctx, r, func(tx *store.Tx) (int, error) {
		if err := d.mayRead(ctx, d.rules.Load(), tx, r); err != nil {
			return 0, err
		}
		tx.Hold = r.Hold // not before: how much the rules read is not for the caller to know
		return f(tx)
	})
}

// viewUndecided is view for an f that asks the rules itself.
func (d *core) viewUndecided(ctx context.Context, r Read, f func(*store.Tx) (int, error)) (bytes int, err error) {
	if !r.Again {
		d.stats.reads.Add(1)
	}
	err = d.snapshot(func(tx *store.Tx) error {
		tx.Interrupt = ctx.Err
		bytes, err = f(tx)
		return err
	})
	switch tooBig := errors.Is(err, store.ErrTooBig); {
	case r.Brief && (tooBig || errors.Is(err, store.ErrLong)):
		err = fault.ErrLong
	case tooBig:
		err = &fault.ReadLimitError{Most: d.options.MaxRead}
	}
	return bytes, err
}

// mayRead allows or refuses a read that is made at once, in the same state.
func (d *core) mayRead(ctx context.Context, rs *rules.Ruleset, tx *store.Tx, r Read) error {
	if err := d.access.Read(ctx, access.State{Rules: rs, Data: tx, Quiet: r.Again}, r); err != nil {
		return err
	}
	tx.Brief(r.Brief) // not before: what the rules read has bounds of its own
	return access.WithinLimits(rs, tx, r)
}

// expireFrom has nodes looked for that are due by data that come in force, and timers whose nodes are gone.
func expireFrom(d *core, data *declared.Data) {
	if data.Expires() {
		d.due = 1
		d.sweep.Add(tree.Root)
		d.work = true
	}
}

// untilSaveUses returns how long nothing is to be saved of how indexes are used. If something is, that is background
// work.
func untilSaveUses(d *core) time.Duration {
	if d.store.ReadOnly() {
		return queue.Forever
	}
	wait := store.UntilSaveUses(d.store)
	d.work = d.work || wait == 0
	return wait
}

// refusedData returns the error of an import to p that may meet a data document which this version refuses.
func refusedData(data *declared.Data, p tree.Path) error {
	if err := declared.Refuses(data, p); err != nil {
		return &fault.DocumentError{Text: err.Error()}
	}
	return nil
}

// errRules is for operations that a session left, which rules would skip that this version refuses.
var errRules = fmt.Errorf("%w: this version of Dogwood refuses the rules", fault.ErrUnavailable)

// waits reports whether an operation that failed with an error succeeds when administrators have done
// something: made room on the disk, or replaced a text that this version refuses.
func waits(err error) bool { return store.NoRoom(err) || waitsForText(err) }

func waitsForText(err error) bool {
	return errors.Is(err, fault.ErrDocument) || errors.Is(err, errRules)
}
