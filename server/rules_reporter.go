package server

import (
	"sync"
	"time"
)

// Bounds of reports about denied operations.
const (
	maxReports    = 10 // in a second
	reportsPeriod = time.Second
)

// A reporter writes reports about denied operations, so many in a second, and of
// the others how many there were. Whoever has something to report never waits:
// the reports are written by a goroutine of the reporter's, which exists while
// there are any.
type reporter struct {
	leftOut func(n int)

	mu     sync.Mutex
	idle   sync.Cond // nothing is left to be written
	began  time.Time // of the current second
	taken  int       // reports in it
	missed int       // that were left out and not told yet
	late   *time.Timer
	queue  []func()
	writes bool // the goroutine exists
	closed bool
}

func newReporter(leftOut func(n int)) *reporter {
	r := &reporter{leftOut: leftOut}
	r.idle.L = &r.mu
	return r
}

// room reports whether take would succeed. If not, a report counts as left out.
func (r *reporter) room() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hasRoom()
}

// take takes room for one report, which is to be added then.
func (r *reporter) take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.hasRoom() {
		return false
	}
	r.taken++
	return true
}

func (r *reporter) hasRoom() bool {
	if r.closed {
		return false
	}
	if now := time.Now(); now.Sub(r.began) >= reportsPeriod {
		r.began, r.taken = now, 0
	}
	if r.taken < maxReports && len(r.queue) < maxReports {
		return true
	}
	r.missed++
	if r.late == nil {
		r.late = time.AfterFunc(reportsPeriod, r.tellMissed)
	}
	return false
}

// add has a report written.
func (r *reporter) add(report func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.push(report)
}

func (r *reporter) push(report func()) {
	r.queue = append(r.queue, report)
	if !r.writes {
		r.writes = true
		go r.write()
	}
}

func (r *reporter) tellMissed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.late = nil
	if n := r.missed; n > 0 {
		r.missed = 0
		r.push(func() { r.leftOut(n) })
	}
}

func (r *reporter) write() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) > 0 {
		next := r.queue[0]
		r.queue = r.queue[1:]
		r.mu.Unlock()
		next()
		r.mu.Lock()
	}
	r.writes = false
	r.idle.Broadcast()
}

// close ends reporting and returns when everything is written.
func (r *reporter) close() {
	r.mu.Lock()
	r.closed = true
	if r.late != nil && r.late.Stop() {
		r.late = nil
	}
	r.mu.Unlock()
	r.tellMissed()
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.writes {
		r.idle.Wait()
	}
}
