package server

import "sync/atomic"

// A budget bounds the sum of what several users hold. Some of them may hold it
// by a share, which is a budget, too: whoever holds a share can take as much as is
// left for all others together. So one who takes all that he can gets a half, ten get
// a tenth each, and there is always something left for the next. The zero budget
// is empty.
type budget struct {
	used   atomic.Int64
	max    int64
	whole  *budget // nil: this is no share
	refuse func()  // called when a share is used up; nil: nothing
}

// share returns a share of b of at most max.
func (b *budget) share(max int64, refuse func()) *budget {
	return &budget{max: min(max, b.max), whole: b, refuse: refuse}
}

// take takes n, if that much is left. What was taken must be given back.
func (b *budget) take(n int64) bool {
	mine := b.used.Add(n)
	if mine > b.max {
		b.used.Add(-n)
		b.refused()
		return false
	}
	if b.whole == nil {
		return true
	}
	if !b.whole.take(n) {
		b.used.Add(-n)
		return false
	}
	if mine > b.whole.max-b.whole.used.Load() {
		b.give(n)
		b.refused()
		return false
	}
	return true
}

// most returns the most that one who takes all that he can gets.
func (b *budget) most() int64 {
	if b.whole == nil {
		return b.max
	}
	return min(b.max, b.whole.max/2)
}

func (b *budget) refused() {
	if b.refuse != nil {
		b.refuse()
	}
}

// add takes n, whether or not that much is left.
func (b *budget) add(n int64) {
	b.used.Add(n)
	if b.whole != nil {
		b.whole.add(n)
	}
}

func (b *budget) give(n int64) { b.add(-n) }
