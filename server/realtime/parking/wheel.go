// Package parking waits for many idle sockets without a goroutine for each: a [Watcher] for what
// arrives, a [Wheel] for their times.
package parking

import (
	"sync"
	"time"
)

// A Timed is called by a Wheel.
type Timed[T any] interface {
	*T
	Spoke() *Spoke[T]
	TimeIsUp(now time.Time)
}

// A Wheel calls sockets at a time of theirs: one timer for all of them. Each has one time, up
// to the span of the wheel ahead, which is met to a Tick.
//
// Timers for each socket would cost memory while it is idle. A Tick is exact enough for pings
// and for the end of silent connections, so one timer and a list for each tick will do.
type Wheel[T any, P Timed[T]] struct {
	mu    sync.Mutex
	ticks [ticks]P // the first of those whose time it is
	count int
	began time.Time // of the counting of ticks
	done  int64     // ticks that are over
	timer *time.Timer
	runs  bool // the timer
}

// The wheel goes around in 128 s, which is more than any time of a socket. Quarters of a
// second spread the pings of many clients that have connected together.
const (
	Tick  = time.Second / 4
	ticks = 512
)

// A Spoke is where a socket is in a wheel.
type Spoke[T any] struct {
	on         bool
	tick       int16
	prev, next *T
}

// Add has a socket called at a time, and not at that of an earlier call.
func (w *Wheel[T, P]) Add(s P, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlink(s)
	if !w.runs {
		w.start()
	}
	tick := int64((at.Sub(w.began) + Tick - 1) / Tick)
	tick = min(max(tick, w.done+1), w.done+ticks) % ticks
	first := &w.ticks[tick]
	*s.Spoke() = Spoke[T]{on: true, tick: int16(tick), next: *first}
	if *first != nil {
		(*first).Spoke().prev = s
	}
	*first = s
	w.count++
}

func (w *Wheel[T, P]) start() {
	w.runs, w.began, w.done = true, time.Now(), 0
	if w.timer == nil {
		w.timer = time.AfterFunc(Tick, w.turn)
		return
	}
	w.timer.Reset(Tick)
}

// Remove makes the wheel forget a socket.
func (w *Wheel[T, P]) Remove(s P) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlink(s)
}

func (w *Wheel[T, P]) unlink(s P) {
	at := s.Spoke()
	if !at.on {
		return
	}
	if at.prev != nil {
		P(at.prev).Spoke().next = at.next
	} else {
		w.ticks[at.tick] = at.next
	}
	if at.next != nil {
		P(at.next).Spoke().prev = at.prev
	}
	*at = Spoke[T]{}
	w.count--
}

// turn is called by the timer, which ends when no socket is left.
func (w *Wheel[T, P]) turn() {
	w.TurnTo(time.Now())
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs = w.count > 0; w.runs {
		w.timer.Reset(time.Until(w.began.Add(time.Duration(w.done+1) * Tick)))
	}
}

// TurnTo calls the sockets whose time has come.
func (w *Wheel[T, P]) TurnTo(now time.Time) {
	for _, s := range w.due(now) {
		s.TimeIsUp(now)
	}
}

// due takes the sockets whose time has come from the wheel.
func (w *Wheel[T, P]) due(now time.Time) (due []P) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tick := int64(now.Sub(w.began) / Tick)
	for n := min(tick-w.done, ticks); n > 0; n-- { // the process may have been stopped for long
		first := &w.ticks[(tick-n+1)%ticks]
		for *first != nil {
			due = append(due, *first)
			w.unlink(*first)
		}
	}
	w.done = max(w.done, tick)
	return due
}
