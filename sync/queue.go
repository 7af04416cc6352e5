package sync

import (
	"container/list"
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
	maxBatchBytes = 512 << 10             // with 4 MiB, beside large values small writes waited 5 times as long
	maxBatchCost  = 20 * time.Millisecond // by the estimates of its tasks
	maxQueueTasks = 64 << 10

	// While several parties wait, and for sharedBatches after that, batches are shorter: a
	// party that comes next waits for the one that is carried out, and then for its own.
	// Without the memory, one that writes now and then always waited for a long one.
	sharedBatchBytes = 256 << 10
	sharedBatchCost  = 5 * time.Millisecond
	sharedBatches    = 16

	// A batch has at most this many times the tasks that waited when it began, as long as it
	// has no events. Senders that were just answered join it while it is applied, so that those
	// who write without a pause do not fall into two groups that wait for each other's syncs.
	// Events wait for the end of the batch, and are delivered beside the next one: with them,
	// short batches are faster.
	batchGrowth = 2
)

// putBackLead is how much committer time a party's tasks that are put back take before those
// of others: as much as a batch.
const putBackLead = sharedBatchCost

// maxParties is how many parties without a task are remembered, for what they have used.
const maxParties = 1024

// A queue holds the tasks that wait for the committer. It is bounded in count
// and bytes: when it is full, senders block. The tasks of one sender are taken in the
// order in which they came; among senders it is fair (see fair.go).
type queue struct {
	mu       sync.Mutex
	changed  sync.Cond // for the committer: tasks were added, or the queue was closed
	parties  schedule
	of       map[*Quota]*party
	count    int   // tasks that wait
	counted  int   // of them for the bounds: those that were not put back
	bytes    int64 // of these
	maxBytes int64
	waits    uint64    // tasks that had to wait to be added
	blocked  list.List // of *party: those of which a sender waits for room, whose turn is next in front
	closed   bool
	batch    batchBounds
	batches  uint64 // that were begun
	unshared int    // of them since several parties had tasks
	growth   int    // see batchGrowth
}

// batchBounds counts what was taken for a batch.
type batchBounds struct {
	began  int  // tasks that waited when it began
	shared bool // they were of several parties, or those of a batch before it were
	tasks  int
	bytes  int64
	cost   time.Duration
}

func newQueue(maxBytes int64) *queue {
	q := &queue{maxBytes: maxBytes, of: make(map[*Quota]*party), unshared: sharedBatches, growth: batchGrowth}
	q.changed.L = &q.mu
	return q
}

// A sender is a task that shares the committer with others: with those of its Quota,
// and within it in the order of its line. Any other task is alone.
type sender interface{ sender() (*Quota, *line) }

// add queues a task and blocks while the queue is full. A task larger than the bound is
// taken when nothing else waits. Once ctx has ended, add queues nothing.
func (q *queue) add(ctx context.Context, t task) error {
	item, quota := newQueued(t)
	w, err := q.tryAdd(ctx, item, quota)
	if w == nil {
		return err
	}
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.place == nil {
		return w.err // it was added just now, or the queue was closed
	}
	q.unblock(w)
	q.admit() // who came later may fit
	return ctx.Err()
}

// A blockedTask waits for room in the queue.
type blockedTask struct {
	queuedTask
	party *party
	place *list.Element // in the party's blocked; nil: it does not wait any longer
	done  chan struct{} // closed then
	err   error
}

// tryAdd adds a task, or has it wait for room: then it returns what waits.
func (q *queue) tryAdd(ctx context.Context, item queuedTask, quota *Quota) (*blockedTask, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := q.party(quota, item.line)
	if p.blocked.Len() == 0 && !q.full(p, item.size) {
		q.push(p, item)
		q.changed.Signal()
		return nil, nil
	}
	q.waits++
	w := &blockedTask{queuedTask: item, party: p, done: make(chan struct{})}
	if w.place = p.blocked.PushBack(w); p.waits == nil {
		p.waits = q.blocked.PushBack(p)
	}
	return w, nil
}

// unblock takes a task out of those that wait for room. mu is held.
func (q *queue) unblock(w *blockedTask) {
	p := w.party
	p.blocked.Remove(w.place)
	w.place = nil
	if p.blocked.Len() == 0 {
		q.blocked.Remove(p.waits)
		p.waits = nil
	}
	close(w.done)
}

// maxPassed bounds how many parties admit passes over because their task does not fit: it
// is called for each task that is taken. When nothing waits to be taken, any task fits.
const maxPassed = 16

// admit adds tasks that wait for room, those of each party in turn, as long as there is
// room. mu is held.
func (q *queue) admit() {
	passed := 0
	for e := q.blocked.Front(); e != nil && passed < maxPassed && !q.isFull(); {
		p := e.Value.(*party)
		w := p.blocked.Front().Value.(*blockedTask)
		if q.full(p, w.size) {
			e = e.Next() // it waits for its own, or is large
			passed++
			continue
		}
		q.unblock(w)
		q.push(p, w.queuedTask)
		if p.waits != nil {
			q.blocked.MoveToBack(p.waits)
		}
		q.changed.Signal()
		e = q.blocked.Front()
	}
}

// newQueued returns a task as it is queued, and whose it is.
func newQueued(t task) (item queuedTask, quota *Quota) {
	item = queuedTask{task: t, size: t.size(), cost: costOf(t)}
	if s, ok := t.(sender); ok {
		quota, item.line = s.sender()
	}
	if item.line == nil {
		item.line = new(line)
	}
	return item, quota
}

func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.Broadcast()
}

// full reports whether a task has to wait. The party of a Quota leaves at least as much
// room as it has to all others, so that none can fill the queue.
func (q *queue) full(p *party, size int64) bool {
	if q.counted == 0 {
		return false
	}
	if q.isFull() || q.bytes+size > q.maxBytes {
		return true
	}
	return p.bounded && p.counted > 0 && (p.counted >= maxQueueTasks-q.counted || p.bytes+size > q.maxBytes-q.bytes)
}

// isFull reports whether there is no room for any task.
func (q *queue) isFull() bool {
	return q.counted >= maxQueueTasks || q.counted > 0 && q.bytes >= q.maxBytes
}

// party returns the party of a Quota, or that of a sender that has none. mu is held.
func (q *queue) party(quota *Quota, l *line) *party {
	if quota == nil {
		return &l.alone
	}
	p := q.of[quota]
	if p == nil {
		q.forget()
		p = &party{bounded: true}
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
			if p.count == 0 && p.waits == nil && (all || !q.parties.owes(&p.turn)) {
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
	q.counted++
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
	p.served = q.batches
	t := p.pop()
	q.count--
	if !t.again {
		q.counted--
		q.bytes -= t.size
	}
	if p.count == 0 {
		q.parties.took(0, false)
	} else {
		q.parties.took(p.cost(), true)
	}
	return t
}

// putBack puts tasks that were taken back in front of the other tasks of their senders, in
// the order that they have here. They had their room in the queue, so they do not count for
// its bounds. It returns false, and does nothing, if the queue is closed.
func (q *queue) putBack(tasks []task) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	type place struct {
		quota *Quota
		line  *line
	}
	var places []place
	of := make(map[place][]queuedTask)
	for _, t := range tasks {
		item, quota := newQueued(t)
		item.again = true
		at := place{quota, item.line}
		if of[at] == nil {
			places = append(places, at)
		}
		of[at] = append(of[at], item)
	}
	for _, at := range places {
		q.pushBack(q.party(at.quota, at.line), at.line, of[at])
	}
	q.beginBatch()
	return true
}

// pushBack puts tasks of a party back in front of their line. mu is held.
func (q *queue) pushBack(p *party, l *line, tasks []queuedTask) {
	if q.count == 0 {
		q.parties.rest()
	}
	p.putBack(l, tasks)
	q.count += len(tasks)
	p.owner = p
	q.parties.lead(&p.turn, putBackLead, p.cost())
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
	q.beginBatch()
	return q.count > 0, !q.closed
}

// beginBatch begins a batch of what is in the queue. mu is held.
func (q *queue) beginBatch() {
	q.batches++
	if q.unshared++; q.parties.Len() > 1 {
		q.unshared = 0
	}
	q.batch = batchBounds{began: q.count, shared: q.unshared <= sharedBatches}
}

// next takes the next task of the batch that take began, if there is one and it fits. grow
// says whether the batch may have more tasks than waited when it began.
func (q *queue) next(grow bool) (t queuedTask, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	most := q.batch.began
	if grow {
		most *= q.growth
	}
	if q.count == 0 || q.batch.tasks > 0 && (q.batch.tasks >= min(most, maxBatchTasks) || !q.fits(q.first())) {
		return t, false
	}
	t = q.pop()
	q.batch.tasks++
	q.batch.bytes += t.size
	q.batch.cost += t.cost
	q.admit()
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
	bytes, cost := int64(maxBatchBytes), maxBatchCost
	if b.shared {
		bytes, cost = sharedBatchBytes, sharedBatchCost
	}
	return b.bytes+t.size <= bytes && b.cost+t.cost <= cost
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

// hasNewcomer reports whether the party whose turn it is had no task in the last batch.
func (q *queue) hasNewcomer() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count > 0 && q.parties.next().owner.(*party).served != q.batches
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
	for e := q.blocked.Front(); e != nil; e = q.blocked.Front() {
		w := e.Value.(*party).blocked.Front().Value.(*blockedTask)
		w.err = ErrClosed
		q.unblock(w)
	}
	q.changed.Signal()
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
