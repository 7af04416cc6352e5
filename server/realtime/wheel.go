package realtime

import (
	"sync"
	"time"
)

// A wheel calls sockets at a time of theirs: one timer for all of them. Each has one time, up
// to the span of the wheel ahead, which is met to a tick.
type wheel struct {
	mu    sync.Mutex
	ticks [wheelTicks]*socket // the first of those whose time it is
	count int
	began time.Time // of the counting of ticks
	done  int64     // ticks that are over
	timer *time.Timer
	runs  bool // the timer
}

// The wheel goes around in 128 s, which is more than any time of a socket. Quarters of a
// second spread the pings of many clients that have connected together.
const (
	wheelTick  = time.Second / 4
	wheelTicks = 512
)

// A spoke is where a socket is in a wheel.
type spoke struct {
	on         bool
	tick       int16
	prev, next *socket
}

// add has a socket called at a time, and not at that of an earlier call.
func (w *wheel) add(s *socket, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlink(s)
	if !w.runs {
		w.start()
	}
	tick := int64((at.Sub(w.began) + wheelTick - 1) / wheelTick)
	tick = min(max(tick, w.done+1), w.done+wheelTicks) % wheelTicks
	first := &w.ticks[tick]
	s.spoke = spoke{on: true, tick: int16(tick), next: *first}
	if *first != nil {
		(*first).spoke.prev = s
	}
	*first = s
	w.count++
}

func (w *wheel) start() {
	w.runs, w.began, w.done = true, time.Now(), 0
	if w.timer == nil {
		w.timer = time.AfterFunc(wheelTick, w.turn)
		return
	}
	w.timer.Reset(wheelTick)
}

// remove makes the wheel forget a socket.
func (w *wheel) remove(s *socket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlink(s)
}

func (w *wheel) unlink(s *socket) {
	at := &s.spoke
	if !at.on {
		return
	}
	if at.prev != nil {
		at.prev.spoke.next = at.next
	} else {
		w.ticks[at.tick] = at.next
	}
	if at.next != nil {
		at.next.spoke.prev = at.prev
	}
	*at = spoke{}
	w.count--
}

// turn is called by the timer, which ends when no socket is left.
func (w *wheel) turn() {
	w.turnTo(time.Now())
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs = w.count > 0; w.runs {
		w.timer.Reset(time.Until(w.began.Add(time.Duration(w.done+1) * wheelTick)))
	}
}

// turnTo calls the sockets whose time has come.
func (w *wheel) turnTo(now time.Time) {
	for _, s := range w.due(now) {
		s.timeIsUp(now)
	}
}

// due takes the sockets whose time has come from the wheel.
func (w *wheel) due(now time.Time) (due []*socket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tick := int64(now.Sub(w.began) / wheelTick)
	for n := min(tick-w.done, wheelTicks); n > 0; n-- { // the process may have been stopped for long
		first := &w.ticks[(tick-n+1)%wheelTicks]
		for *first != nil {
			due = append(due, *first)
			w.unlink(*first)
		}
	}
	w.done = max(w.done, tick)
	return due
}
