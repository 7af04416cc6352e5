package queue

import (
	pq "container/heap" // tests have a heap of their own
	"container/list"
	"time"

	"github.com/dogwooddb/dogwood/internal/fifo"
)

// The queue is fair by time: it is a weighted fair queue in two levels. Client addresses
// share the committer equally; within an address its lines, which are sessions, do. A turn has a virtual clock, which advances by the committer time
// that its tasks take: by an estimate when a task is taken, corrected by the measured
// time when it is done. The turn whose clock would be the lowest after its next task
// comes first. So a small task overtakes large ones of others, and a sender that has
// used much waits for those that have used little.
//
// A turn that has come keeps its place for a visit: some small tasks in a row. The writes
// of one sender are often neighbours in the file, and their answers go to one socket, so
// a batch that has many tasks of few senders costs less than one that has a few of each.
// Visits are short enough that all turns have theirs within the time of one batch.

// Bounds of a visit, by the estimates of its tasks. A round is one visit of each turn.
const (
	TaskCost = 10 * time.Microsecond // the estimate of a small task
	maxVisit = 16 * TaskCost
	maxRound = sharedBatchCost
)

// A turn is the place of an address or a line in a schedule.
type turn struct {
	clock   time.Duration // virtual: the committer time used so far
	finish  time.Duration // clock after the next task
	began   time.Duration // clock when its visit began
	due     time.Duration // finish of the first task of its visit: the lowest comes first
	arrived uint64        // orders turns that are due at the same time
	slot    int           // in schedule.ready; meaningless while it is not there
	ready   bool          // it has a task
	again   bool          // of a line: its next task was put back
	owner   any           // *address or *Line
}

// A schedule orders the turns that have tasks.
type schedule struct {
	ready   []*turn
	one     [1]*turn      // ready of one that has had no more: most requests are alone
	now     time.Duration // when the turn that was taken last was due
	latest  time.Duration // highest clock
	arrived uint64
}

// enter puts a turn into the schedule whose next task costs so much. Time in which it
// had no tasks is not saved up.
func (s *schedule) enter(t *turn, cost time.Duration) {
	t.clock = max(t.clock, s.now)
	t.finish, t.ready = t.clock+cost, true
	s.begin(t)
	pq.Push(s, t)
}

// lead puts a turn whose next task costs so much ahead of those that have used as much, by
// so much time.
func (s *schedule) lead(t *turn, by, cost time.Duration) {
	t.clock = max(t.clock, s.now) - by
	t.finish = t.clock + cost
	s.begin(t)
	if t.ready {
		pq.Fix(s, t.slot)
		return
	}
	t.ready = true
	pq.Push(s, t)
}

// next returns the turn that comes next.
func (s *schedule) next() *turn { return s.ready[0] }

// took advances the first turn by its task. If it has another one, of the cost more,
// it stays in the schedule.
func (s *schedule) took(more time.Duration, stays bool) {
	t := s.ready[0]
	s.now = max(s.now, t.due)
	t.clock = t.finish
	s.latest = max(s.latest, t.clock)
	if !stays {
		pq.Pop(s)
		t.ready = false
		return
	}
	if t.finish += more; !s.goesOn(t) {
		s.begin(t)
	}
	pq.Fix(s, 0) // also of one that goes on: what was put back of it may have been taken
}

// begin begins a visit.
func (s *schedule) begin(t *turn) {
	s.arrived++
	t.began, t.due, t.arrived = t.clock, t.finish, s.arrived
}

// goesOn reports whether the next task of a turn still belongs to the visit that has begun.
func (s *schedule) goesOn(t *turn) bool {
	return t.clock > t.began && t.finish-t.began <= min(maxVisit, maxRound/time.Duration(len(s.ready)))
}

// correct adds to a turn's clock what a task took beyond its estimate, which may be
// less than nothing.
func (s *schedule) correct(t *turn, by time.Duration) {
	t.clock += by
	s.latest = max(s.latest, t.clock)
	if t.ready {
		t.finish += by
		t.began += by
		t.due += by
		pq.Fix(s, t.slot)
	}
}

// reprice changes the cost of the next task of a turn, if the turn has one.
func (s *schedule) reprice(t *turn, cost time.Duration) {
	if !t.ready || t.finish == t.clock+cost {
		return
	}
	if t.finish = t.clock + cost; !s.goesOn(t) {
		t.began, t.due = t.clock, t.finish
		pq.Fix(s, t.slot)
	}
}

// rest makes all turns equal. It is called when no task waits, so that no sender waits
// for another.
func (s *schedule) rest() { s.now = max(s.now, s.latest) }

// owes reports whether a turn that is not in the schedule has used more than its share.
func (s *schedule) owes(t *turn) bool { return t.clock > s.now }

// The methods below are for container/heap.

func (s *schedule) Len() int { return len(s.ready) }

func (s *schedule) Less(i, j int) bool {
	a, b := s.ready[i], s.ready[j]
	if a.again != b.again {
		return a.again
	}
	if a.due != b.due {
		return a.due < b.due
	}
	return a.arrived < b.arrived
}

func (s *schedule) Swap(i, j int) {
	s.ready[i], s.ready[j] = s.ready[j], s.ready[i]
	s.ready[i].slot, s.ready[j].slot = i, j
}

func (s *schedule) Push(x any) {
	t := x.(*turn)
	if s.ready == nil {
		s.ready = s.one[:0]
	}
	t.slot = len(s.ready)
	s.ready = append(s.ready, t)
}

func (s *schedule) Pop() any {
	last := len(s.ready) - 1
	t := s.ready[last]
	s.ready[last] = nil
	s.ready = s.ready[:last]
	return t
}

// An address is the lines that share one turn.
type address[T any] struct {
	turn
	lines   schedule
	bounded bool   // it may fill a part of the queue only
	count   int    // of its tasks that wait
	counted int    // of them for the bounds: those that were not put back
	bytes   int64  // of these
	served  uint64 // the last batch with a task of it

	blocked list.List     // of *blocked[T]: its tasks that wait for room
	waits   *list.Element // in the queue's blocked; nil: none waits
}

// A Line is the tasks of one sender, in the order in which they are carried out: of a
// session, or of a request that belongs to no session. The zero Line has none.
type Line[T any] struct {
	turn
	address *address[T] // of the tasks that wait
	alone   address[T]  // of a sender that is an address of its own
	tasks   fifo.Queue[Item[T]]
	one     [1]Item[T] // tasks of one that has had no more
}

// maxKeptLine bounds the memory that an empty line keeps for its next tasks.
const maxKeptLine = 32

// push adds a task behind the others.
func (l *Line[T]) push(t Item[T]) {
	l.tasks.Use(l.one[:])
	l.tasks.Push(t)
}

// putBack adds tasks in front of the others.
func (l *Line[T]) putBack(tasks []Item[T]) {
	l.tasks.PushFront(tasks...)
	l.again = true
}

// pop takes the first task. There is one.
func (l *Line[T]) pop() Item[T] {
	t := l.tasks.Pop(maxKeptLine)
	l.again = l.tasks.Len() > 0 && l.tasks.Front().again
	return t
}

// push adds a task to its line, which is one of p.
func (p *address[T]) push(t Item[T]) {
	if p.count == 0 {
		p.lines.rest()
	}
	l := t.Line
	l.address, l.owner = p, l
	l.push(t)
	p.count++
	p.counted++
	p.bytes += t.Size
	if !l.ready {
		p.lines.enter(&l.turn, t.Cost)
	}
}

// putBack adds tasks to the front of their line, which is one of p. They come before those
// of other lines that were not put back.
func (p *address[T]) putBack(l *Line[T], tasks []Item[T]) {
	if p.count == 0 {
		p.lines.rest()
	}
	l.address, l.owner = p, l
	l.putBack(tasks)
	p.count += len(tasks)
	p.lines.lead(&l.turn, 0, tasks[0].Cost)
}

// pop takes the task that is next in turn. There is one.
func (p *address[T]) pop() Item[T] {
	l := p.lines.next().owner.(*Line[T])
	t := l.pop()
	p.count--
	if !t.again {
		p.counted--
		p.bytes -= t.Size
	}
	if l.tasks.Len() == 0 {
		p.lines.took(0, false)
	} else {
		p.lines.took(l.tasks.Front().Cost, true)
	}
	return t
}

// cost returns the estimate of the task that is next. There is one.
func (p *address[T]) cost() time.Duration { return p.lines.next().owner.(*Line[T]).tasks.Front().Cost }
