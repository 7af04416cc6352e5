package tree

import (
	"crypto/rand"
	"sync"
	"time"
)

// PushChars is the alphabet of push ids, in ASCII order (protocol §7.3).
const PushChars = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

// A PushIDs makes push ids: 8 characters of time in milliseconds and 12 random
// ones, so that ids sort by the time they were made. Ids of the same
// millisecond are consecutive, and time never runs backwards, so each id is
// greater than the one before. The zero PushIDs is ready to use; it may be used
// by several goroutines at once. The random part is incremented within a
// millisecond instead of drawn anew, or ids of one server could come out of
// order.
type PushIDs struct {
	mu     sync.Mutex
	last   int64
	digits [12]byte     // each below 64
	random func([]byte) // nil: crypto/rand; tests force the digits
}

// Next returns the next id for the given time.
func (g *PushIDs) Next(now time.Time) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ms := now.UnixMilli(); ms > g.last {
		g.last = ms
		g.draw()
	} else {
		g.increment()
	}
	return g.id()
}

func (g *PushIDs) draw() {
	if g.random != nil {
		g.random(g.digits[:])
	} else {
		rand.Read(g.digits[:])
	}
	for i := range g.digits {
		g.digits[i] &= 63
	}
}

func (g *PushIDs) increment() {
	for i := len(g.digits) - 1; i >= 0; i-- {
		if g.digits[i]++; g.digits[i] < 64 {
			return
		}
		g.digits[i] = 0
	}
	g.last++ // 2^72 ids in one millisecond
}

func (g *PushIDs) id() string {
	var id [20]byte
	ms := g.last
	for i := 7; i >= 0; i-- {
		id[i] = PushChars[ms&63]
		ms >>= 6
	}
	for i, d := range g.digits {
		id[8+i] = PushChars[d]
	}
	return string(id[:])
}
