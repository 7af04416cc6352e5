package sync

import (
	"container/list"
	"context"
	"runtime"
	"sync"
)

// Turns lets a few at a time do what takes much memory, or long, nobody knows how
// much before. They are shared by parties, such as the clients of one address:
// one can have a half of the places, the next a half of what is left, and who has
// none is first in line for the last. So whoever asks for much, and often, waits
// for himself.
type Turns struct {
	mu   sync.Mutex
	free int
	line list.List // of *Party: those of whom somebody waits, whose turn is next in front
}

// A Party is some of the users of Turns, who are served in the order in which they
// come.
type Party struct {
	turns   *Turns
	bounded bool
	has     int           // places; this and the rest are guarded by the mu of turns
	waiting list.List     // of chan struct{}, which is closed when a place was taken for it
	inLine  *list.Element // nil: nobody waits
}

// NewTurns returns turns for n at a time.
func NewTurns(n int) *Turns { return &Turns{free: n} }

// MaxReads is the most values that are read and made into answers at a time.
const MaxReads = 8

// LongText is the length in bytes from which a text is parsed in a turn.
const LongText = 4 << 10

// NewReadTurns returns the turns of what takes long: reading values and making answers
// of them, parsing long texts, and deciding large writes. That keeps a processor busy, and never lets it go: more at a time than there are
// processors are not sooner done, but everything else then waits for slices of time
// of theirs, a small read some 50 ms. Two is the least that can be shared.
func NewReadTurns() *Turns {
	return NewTurns(min(max(runtime.GOMAXPROCS(0), 2), MaxReads))
}

// Party returns a party that has its part of the places at most.
func (t *Turns) Party() *Party { return &Party{turns: t, bounded: true} }

// Everybody returns a party that may have all places.
func (t *Turns) Everybody() *Party { return &Party{turns: t} }

// Enter waits for a place, which must be given back with Leave. The error is that
// of ctx, which ended first.
func (p *Party) Enter(ctx context.Context) error {
	ready, place := p.join()
	if ready == nil {
		return nil
	}
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		p.giveUp(ready, place)
		return ctx.Err()
	}
}

// TryEnter is Enter for who does not wait.
func (p *Party) TryEnter() bool {
	p.turns.mu.Lock()
	defer p.turns.mu.Unlock()
	return p.enter()
}

// Leave gives back a place.
func (p *Party) Leave() {
	p.turns.mu.Lock()
	defer p.turns.mu.Unlock()
	p.leave()
}

// While runs f in a place of its own. The error is that of f, or that of ctx, which ended
// before there was a place.
func (p *Party) While(ctx context.Context, f func() error) error {
	if err := p.Enter(ctx); err != nil {
		return err
	}
	defer p.Leave()
	return f()
}

// Apart runs f, which waits for something, and leaves meanwhile the place that the caller
// has: others can use it, among them those that f waits for.
func (p *Party) Apart(f func() error) error {
	p.Leave()
	defer p.Enter(context.Background()) // which does not end
	return f()
}

// enter takes a place if there is one for p. Those who wait have been let in as
// far as they may, so nobody of another party is overtaken. mu is held.
func (p *Party) enter() bool {
	if p.waiting.Len() > 0 || !p.mayEnter() {
		return false
	}
	p.take()
	return true
}

// mayEnter leaves at least as many places to all others as p has. mu is held.
func (p *Party) mayEnter() bool {
	return p.turns.free > 0 && (!p.bounded || p.has < p.turns.free)
}

func (p *Party) take() {
	p.has++
	p.turns.free--
}

func (p *Party) leave() {
	p.has--
	p.turns.free++
	p.turns.admit()
}

// join takes a place, or waits in line for one: then ready is not nil.
func (p *Party) join() (ready chan struct{}, place *list.Element) {
	t := p.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.enter() {
		return nil, nil
	}
	ready = make(chan struct{})
	if p.inLine == nil {
		p.inLine = t.line.PushBack(p)
	}
	return ready, p.waiting.PushBack(ready)
}

// giveUp leaves the line, or the place that was taken just now.
func (p *Party) giveUp(ready chan struct{}, place *list.Element) {
	t := p.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-ready:
		p.leave()
		return
	default:
	}
	p.waiting.Remove(place)
	if p.waiting.Len() == 0 {
		t.line.Remove(p.inLine)
		p.inLine = nil
	}
}

// admit lets in those who may enter, one of each party in turn. mu is held. Only
// parties that have a place may not, so few are looked at in vain.
func (t *Turns) admit() {
	for e := t.line.Front(); e != nil && t.free > 0; {
		p := e.Value.(*Party)
		if !p.mayEnter() {
			e = e.Next()
			continue
		}
		p.take()
		close(p.waiting.Remove(p.waiting.Front()).(chan struct{}))
		t.line.Remove(e)
		p.inLine = nil
		if p.waiting.Len() > 0 {
			p.inLine = t.line.PushBack(p)
		}
		e = t.line.Front()
	}
}
