package limit

import (
	"cmp"
	"container/heap"
	"time"
)

// A slot is the place of a share in slots.
type slot struct {
	share *Share
	need  int64         // how much of the meter has to be free
	due   time.Duration // orders slots of equal need: when their turn is, by the time used
	turn  uint64        // orders slots that are due at the same time
	at    int           // index, or out
}

// out is the index of a slot that is not among slots.
const out = -1

// slots is a heap of the shares that wait, the least need on top.
type slots []*slot

// put adds a slot, or moves it after its need, its due or its turn has changed.
func (h *slots) put(s *slot, need int64, due time.Duration) {
	s.need, s.due = need, due
	if s.at == out {
		heap.Push(h, s)
	} else {
		heap.Fix(h, s.at)
	}
}

// remove removes a slot if it is there.
func (h *slots) remove(s *slot) {
	if s.at != out {
		heap.Remove(h, s.at)
	}
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h slots) Len() int { return len(h) }

func (h slots) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].need, h[j].need), cmp.Compare(h[i].due, h[j].due), cmp.Compare(h[i].turn, h[j].turn)) < 0
}

func (h slots) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push adds a *slot.
func (h *slots) Push(x any) {
	s := x.(*slot)
	s.at = len(*h)
	*h = append(*h, s)
}

// Pop removes the last one.
func (h *slots) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	s.at = out
	return s
}
