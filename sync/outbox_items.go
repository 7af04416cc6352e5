package sync

// items is the queue inside an Outbox. Its array is let go of when the queue is
// empty, unless it is so small that most clients can keep theirs: a client that
// reads what it is sent has seldom more than an event and a reply waiting.
type items struct {
	all  []item
	head int // those before it are taken
}

// keptItems is how long an array may be to be kept.
const keptItems = 4

func (q *items) len() int { return len(q.all) - q.head }

func (q *items) front() *item { return &q.all[q.head] }

func (q *items) push(it item) {
	if q.head > 0 && len(q.all) == cap(q.all) && q.head >= len(q.all)/2 {
		q.compact()
	}
	q.all = append(q.all, it)
}

// compact moves what is left to the start of the array.
func (q *items) compact() {
	n := copy(q.all, q.all[q.head:])
	clear(q.all[n:])
	q.all, q.head = q.all[:n], 0
}

// pop takes the first item of a queue that is not empty.
func (q *items) pop() item {
	it := q.all[q.head]
	q.all[q.head] = item{}
	q.head++
	if q.len() == 0 {
		q.reset()
	}
	return it
}

func (q *items) reset() {
	if cap(q.all) > keptItems {
		q.all = nil
	}
	q.all, q.head = q.all[:0], 0
}

// unpop puts an item before all others.
func (q *items) unpop(it item) {
	if q.head == 0 {
		q.all = append([]item{it}, q.all...)
		return
	}
	q.head--
	q.all[q.head] = it
}

// keep drops the items for which f returns false. f may change those it keeps.
func (q *items) keep(f func(it *item) bool) {
	kept := q.all[:0]
	for i := q.head; i < len(q.all); i++ {
		if f(&q.all[i]) {
			kept = append(kept, q.all[i])
		}
	}
	clear(q.all[len(kept):])
	q.all, q.head = kept, 0
}
