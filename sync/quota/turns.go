package quota

import (
	"context"
	"sync"

	"github.com/dogwooddb/dogwood/limit"
)

// Turns lets a few at a time do something that takes long, those of one Quota in half of the
// places. Quotas take turns, and so do callers without one.
type Turns struct {
	turns *limit.Meter
	mu    sync.Mutex
	of    map[*Quota]*taker // that have a place, or wait
}

// A taker is a Quota that takes turns.
type taker struct {
	share *limit.Share
	count int
}

// NewTurns returns turns in so many places.
func NewTurns(places int64) *Turns {
	return &Turns{turns: limit.NewMeter(places), of: make(map[*Quota]*taker)}
}

// Enter waits for a place. done gives it back.
func (t *Turns) Enter(ctx context.Context, q *Quota) (done func(), err error) {
	p, leave := t.taker(q)
	if err := p.Acquire(ctx, 1); err != nil {
		leave()
		return nil, err
	}
	return func() { p.Release(1); leave() }, nil
}

// taker returns the share of a Quota, which is forgotten after its last turn.
func (t *Turns) taker(q *Quota) (p *limit.Share, leave func()) {
	if q == nil {
		return t.turns.All(), func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.of[q]
	if l == nil {
		l = &taker{share: t.turns.Share(limit.Unbounded)}
		t.of[q] = l
	}
	l.count++
	return l.share, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if l.count--; l.count == 0 {
			delete(t.of, q)
		}
	}
}
