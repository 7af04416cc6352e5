package outbox

import (
	"sync"

	"github.com/dogwooddb/dogwood/internal/fifo"
)

// keptItems is how many items an array that is kept may have: a client that reads what it is
// sent has seldom more than an event and a reply waiting.
const keptItems = 4

// When more wait for a client that soon takes them, as after a burst of writes, their arrays
// are lent. To make and drop them for each burst took a tenth of a delivery.
var itemArrays = [...]arrayPool{{size: 4 * keptItems}, {size: 8 * keptItems}, {size: 16 * keptItems}}

// An arrayPool has arrays of a size that no outbox uses. They are clear.
type arrayPool struct {
	size int
	pool sync.Pool
}

// An itemArray is one of a pool.
type itemArray struct {
	items []item
	of    *arrayPool
}

func (p *arrayPool) get() *itemArray {
	if a, ok := p.pool.Get().(*itemArray); ok {
		return a
	}
	return &itemArray{make([]item, p.size), p}
}

// giveBack ends the use of an array.
func (a *itemArray) giveBack() {
	clear(a.items)
	a.of.pool.Put(a)
}

// An itemQueue is a queue whose longer arrays are lent.
type itemQueue struct {
	fifo.Queue[item]
	lent  *itemArray // that the items are in, or were; nil: they have an array of their own
	small []item     // their array before and after that
}

// Push adds an item behind the others.
func (q *itemQueue) Push(it item) {
	if q.Full() && q.Len() > keptItems/2 {
		q.grow()
	}
	q.Queue.Push(it)
}

// grow lends the items an array with room for more of them, if there are any that long.
func (q *itemQueue) grow() {
	before := q.lent
	for i := range itemArrays {
		if p := &itemArrays[i]; p.size > q.Len() {
			q.lent = p.get()
			break
		}
	}
	if q.lent == before {
		return
	}
	left := q.Move(q.lent.items)
	switch {
	case before != nil:
		before.giveBack()
	case cap(left) <= keptItems:
		q.small = left
	}
}

// Pop takes the first item. There is one.
func (q *itemQueue) Pop() item {
	it := q.Queue.Pop(keptItems)
	if q.Len() == 0 && q.lent != nil {
		q.emptied()
	}
	return it
}

// emptied gives the array back when there are no items any more.
func (q *itemQueue) emptied() {
	if q.lent != nil {
		q.lent.giveBack()
	}
	small := q.small
	*q = itemQueue{}
	q.Use(small)
}
