// Package queue orders the tasks that wait for the committer of a database. It is bounded in
// count and bytes, and fair by the time that tasks take: client addresses take turns, and
// within an address its senders do. It knows nothing of tasks but their sizes and estimates.
package queue

import (
	"container/list"
	"context"
	"math"
	"runtime"
	"sync"
	"time"
)

// Bounds of one batch. They keep a commit short; whatever waits comes next.
const (
	maxBatchTasks = 1024
	MaxBatchBytes = 512 << 10             // with 4 MiB, beside large values small writes waited 5 times as long
	MaxBatchCost  = 20 * time.Millisecond // by the estimates of its tasks
	MaxTasks      = 64 << 10

	// While several addresses wait, and for sharedBatches after that, batches are shorter:
	// one that comes next waits for the batch that is carried out, and then for its own.
	// With 256 KiB it waited twice as long for values of 20 kB of another, which came no faster.
	// Without the memory, one that writes now and then always waited for a long one.
	sharedBatchBytes = 64 << 10
	sharedBatchCost  = 5 * time.Millisecond
	sharedBatches    = 16

	// A batch has at most this many times the tasks that waited when it began, as long as it
	// has no events. Senders that were just answered join it while it is applied, so that those
	// who write without a pause do not fall into two groups that wait for each other's syncs.
	// Events wait for the end of the batch, and are delivered beside the next one: with them,
	// short batches are faster.
	batchGrowth = 2
)

// PutBackLead is how much committer time an address's tasks that are put back take before
// those of others: as much as a batch.
const PutBackLead = sharedBatchCost

// maxAddresses is how many addresses without a task are remembered, for what they have used.
const maxAddresses = 1024

// An Item is a task with what is known of it when it is queued.
type Item[T any] struct {
	Task T
	Line *Line[T]      // that it waits in; nil: alone
	Size int64         // bytes, for the bounds of the queue and of a batch
	Cost time.Duration // an estimate

	again bool // it was put back
}

// A Queue holds the tasks that wait for the committer. When it is full, senders block. The
// tasks of one Line are taken in the order in which they came; among lines, and among the
// addresses K that they belong to, the queue is fair (see fair.go). The zero K is none: such
// a line is an address of its own.
type Queue[T any, K comparable] struct {
	mu        sync.Mutex
	changed   sync.Cond // for the committer: tasks were added, or the queue was closed
	addresses schedule
	of        map[K]*address[T]
	count     int   // tasks that wait
	counted   int   // of them for the bounds: those that were not put back
	bytes     int64 // of these
	maxBytes  int64
	waits     uint64    // tasks that had to wait to be added
	blocked   list.List // of *address[T]: those of which a sender waits for room, whose turn is next in front
	ended     error     // why nothing can be added; nil: it can
	batch     batchBounds
	batches   uint64 // that were begun
	unshared  int    // of them since several addresses had tasks
	growth    int    // see batchGrowth
}

// batchBounds counts what was taken for a batch.
type batchBounds struct {
	began  int  // tasks that waited when it began
	shared bool // they were of several addresses, or those of a batch before it were
	tasks  int
	bytes  int64
	cost   time.Duration
}

// New returns a queue for maxBytes of tasks.
func New[T any, K comparable](maxBytes int64) *Queue[T, K] {
	q := &Queue[T, K]{maxBytes: maxBytes, of: make(map[K]*address[T]), unshared: sharedBatches, growth: batchGrowth}
	q.changed.L = &q.mu
	return q
}

// Grow bounds batches by so many times the tasks that waited when they began, which tests
// rely on.
func (q *Queue[T, K]) Grow(times int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.growth = times
}

// Add queues a task and blocks while the queue is full. A task larger than the bound is
// taken when nothing else waits. Once ctx has ended, Add queues nothing.
func (q *Queue[T, K]) Add(ctx context.Context, from K, item Item[T]) error {
	w, err := q.tryAdd(ctx, from, item)
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

// A blocked task waits for room in the queue.
type blocked[T any] struct {
	Item[T]
	address *address[T]
	place   *list.Element // in the address's blocked; nil: it does not wait any longer
	done    chan struct{} // closed then
	err     error
}

// tryAdd adds a task, or has it wait for room: then it returns what waits.
func (q *Queue[T, K]) tryAdd(ctx context.Context, from K, item Item[T]) (*blocked[T], error) {
	if item.Line == nil {
		item.Line = new(Line[T])
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended != nil {
		return nil, q.ended
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := q.address(from, item.Line)
	if p.blocked.Len() == 0 && !q.full(p, item.Size) {
		q.push(p, item)
		q.changed.Signal()
		return nil, nil
	}
	q.waits++
	w := &blocked[T]{Item: item, address: p, done: make(chan struct{})}
	if w.place = p.blocked.PushBack(w); p.waits == nil {
		p.waits = q.blocked.PushBack(p)
	}
	return w, nil
}

// unblock takes a task out of those that wait for room. mu is held.
func (q *Queue[T, K]) unblock(w *blocked[T]) {
	p := w.address
	p.blocked.Remove(w.place)
	w.place = nil
	if p.blocked.Len() == 0 {
		q.blocked.Remove(p.waits)
		p.waits = nil
	}
	close(w.done)
}

// maxPassed bounds how many addresses admit passes over because their task does not fit: it
// is called for each task that is taken. They go behind the others, so that the next call looks at
// those. When nothing waits to be taken, any task fits.
const maxPassed = 16

// admit adds tasks that wait for room, those of each address in turn, as long as there is
// room. mu is held.
func (q *Queue[T, K]) admit() {
	for passed := 0; passed < min(maxPassed, q.blocked.Len()) && !q.isFull(); {
		p := q.blocked.Front().Value.(*address[T])
		w := p.blocked.Front().Value.(*blocked[T])
		if q.full(p, w.Size) {
			passed++ // it waits for its own, or is large
		} else {
			q.unblock(w)
			q.push(p, w.Item)
			q.changed.Signal()
		}
		if p.waits != nil {
			q.blocked.MoveToBack(p.waits)
		}
	}
}

func (q *Queue[T, K]) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.Broadcast()
}

// full reports whether a task has to wait. An address of several leaves at least as much
// room as it has to all others, so that none can fill the queue.
func (q *Queue[T, K]) full(p *address[T], size int64) bool {
	if q.counted == 0 {
		return false
	}
	if q.isFull() || q.bytes+size > q.maxBytes {
		return true
	}
	return p.bounded && p.counted > 0 && (p.counted >= MaxTasks-q.counted || p.bytes+size > q.maxBytes-q.bytes)
}

// isFull reports whether there is no room for any task.
func (q *Queue[T, K]) isFull() bool {
	return q.counted >= MaxTasks || q.counted > 0 && q.bytes >= q.maxBytes
}

// address returns the address that a line belongs to. mu is held.
func (q *Queue[T, K]) address(from K, l *Line[T]) *address[T] {
	if from == *new(K) {
		return &l.alone
	}
	p := q.of[from]
	if p == nil {
		q.forget()
		p = &address[T]{bounded: true}
		q.of[from] = p
	}
	return p
}

// forget forgets addresses without a task if there are many: those that have used no more
// than their share, or else all of them. mu is held.
func (q *Queue[T, K]) forget() {
	for _, all := range []bool{false, true} {
		if len(q.of) < maxAddresses {
			return
		}
		for from, p := range q.of {
			if p.count == 0 && p.waits == nil && (all || !q.addresses.owes(&p.turn)) {
				delete(q.of, from)
			}
		}
	}
}

// push adds a task of a address. mu is held.
func (q *Queue[T, K]) push(p *address[T], t Item[T]) {
	if q.count == 0 {
		q.addresses.rest()
	}
	p.push(t)
	q.count++
	q.counted++
	q.bytes += t.Size
	if p.owner = p; !p.ready {
		q.addresses.enter(&p.turn, p.cost())
	} else {
		q.addresses.reprice(&p.turn, p.cost())
	}
}

// pop takes the task whose turn it is. There is one. mu is held.
func (q *Queue[T, K]) pop() Item[T] {
	p := q.addresses.next().owner.(*address[T])
	p.served = q.batches
	t := p.pop()
	q.count--
	if !t.again {
		q.counted--
		q.bytes -= t.Size
	}
	if p.count == 0 {
		q.addresses.took(0, false)
	} else {
		q.addresses.took(p.cost(), true)
	}
	return t
}

// PutBack puts tasks that were taken back in front of the other tasks of their lines, in the
// order that they have here. They had their room in the queue, so they do not count for
// its bounds. of returns where a task came from, and the task as it is queued. PutBack
// returns false, and does nothing, if the queue is closed.
func (q *Queue[T, K]) PutBack(tasks []T, of func(T) (K, Item[T])) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended != nil {
		return false
	}
	type place struct {
		from K
		line *Line[T]
	}
	var places []place
	items := make(map[place][]Item[T])
	for _, t := range tasks {
		from, item := of(t)
		item.again = true
		at := place{from, item.Line}
		if items[at] == nil {
			places = append(places, at)
		}
		items[at] = append(items[at], item)
	}
	for _, at := range places {
		q.pushBack(q.address(at.from, at.line), at.line, items[at])
	}
	q.beginBatch()
	return true
}

// pushBack puts tasks of a address back in front of their line. mu is held.
func (q *Queue[T, K]) pushBack(p *address[T], l *Line[T], tasks []Item[T]) {
	if q.count == 0 {
		q.addresses.rest()
	}
	p.putBack(l, tasks)
	q.count += len(tasks)
	p.owner = p
	q.addresses.lead(&p.turn, PutBackLead, p.cost())
}

// maxDebt bounds how far one task can set back its sender.
const maxDebt = time.Second

// Charge corrects the estimates of tasks that were taken by what they took.
func (q *Queue[T, K]) Charge(tasks []Item[T], took []time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, t := range tasks[:len(took)] {
		by := min(took[i], maxDebt) - t.Cost
		p := t.Line.address
		p.lines.correct(&t.Line.turn, by)
		q.addresses.correct(&p.turn, by)
		if p.ready {
			q.addresses.reprice(&p.turn, p.cost())
		}
	}
}

// Forever is how long Take waits until there is something.
const Forever = time.Duration(math.MaxInt64)

// Take begins a batch: it waits for a task at most so long, and lets others be added.
// It returns false when the queue is closed.
func (q *Queue[T, K]) Take(wait time.Duration) (some, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.await(wait)
	q.gather()
	q.beginBatch()
	return q.count > 0, q.ended == nil
}

// beginBatch begins a batch of what is in the queue. mu is held.
func (q *Queue[T, K]) beginBatch() {
	q.batches++
	if q.unshared++; q.addresses.Len() > 1 {
		q.unshared = 0
	}
	q.batch = batchBounds{began: q.count, shared: q.unshared <= sharedBatches}
}

// Next takes the next task of the batch that Take began, if there is one and it fits. grow
// says whether the batch may have more tasks than waited when it began.
func (q *Queue[T, K]) Next(grow bool) (t Item[T], ok bool) {
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
	q.batch.bytes += t.Size
	q.batch.cost += t.Cost
	q.admit()
	return t, true
}

// first returns the task whose turn it is. There is one. mu is held.
func (q *Queue[T, K]) first() Item[T] {
	p := q.addresses.next().owner.(*address[T])
	return *p.lines.next().owner.(*Line[T]).tasks.Front()
}

// fits reports whether the batch has room for a task. mu is held.
func (q *Queue[T, K]) fits(t Item[T]) bool {
	b := q.batch
	bytes, cost := int64(MaxBatchBytes), MaxBatchCost
	if b.shared {
		bytes, cost = sharedBatchBytes, sharedBatchCost
	}
	return b.bytes+t.Size <= bytes && b.cost+t.Cost <= cost
}

// await waits for a task, or for the queue to be closed, mu held.
func (q *Queue[T, K]) await(wait time.Duration) {
	began := time.Now() // before the timer, which must not be early
	if wait > 0 && wait != Forever && q.count == 0 {
		over := time.AfterFunc(wait, q.wake)
		defer over.Stop()
	}
	for q.count == 0 && q.ended == nil && time.Since(began) < wait {
		q.changed.Wait()
	}
}

// HasTasks reports whether something waits to be taken.
func (q *Queue[T, K]) HasTasks() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count > 0
}

// HasNewcomer reports whether the address whose turn it is had no task in the last batch.
func (q *Queue[T, K]) HasNewcomer() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count > 0 && q.addresses.next().owner.(*address[T]).served != q.batches
}

// maxGather is how often gather lets others run.
const maxGather = 16

// gather lets others that are ready to run go first, mu held, for as long as they
// add tasks. The first of many writers wakes the committer; without this, it would
// commit that one alone, and all others would wait for two syncs. It waits for
// nobody who is not ready, so a single writer does not notice.
func (q *Queue[T, K]) gather() {
	for round, before := 0, 0; round < maxGather && q.count > before && q.count < maxBatchTasks; round++ {
		before = q.count
		q.mu.Unlock()
		runtime.Gosched()
		q.mu.Lock()
	}
}

// Close has Add fail with err from now on, and returns the tasks that are left.
func (q *Queue[T, K]) Close(err error) (left []T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = err
	for q.count > 0 {
		left = append(left, q.pop().Task)
	}
	for e := q.blocked.Front(); e != nil; e = q.blocked.Front() {
		w := e.Value.(*address[T]).blocked.Front().Value.(*blocked[T])
		w.err = err
		q.unblock(w)
	}
	q.changed.Signal()
	return left
}

// Waiting returns how much is queued, and how many tasks had to wait for room.
func (q *Queue[T, K]) Waiting() (tasks int, bytes int64, waits uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count, q.bytes, q.waits
}
