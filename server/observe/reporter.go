package observe

import (
	"sync"
	"time"
)

// Bounds of reports about denied operations.
const (
	MaxReports    = 10 // in a second
	reportsPeriod = time.Second
)

// A Reporter writes reports about denied operations, so many in a second, and of
// the others how many there were. Nothing waits for it: the reports are written by a
// goroutine of the reporter's, which exists while there are any.
//
// To ask first (Take) and to make the text afterwards matters: under a flood of denied
// operations nearly all are left out, and cost no explanation.
type Reporter struct {
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

// NewReporter returns a Reporter that calls leftOut with how many reports it left out.
func NewReporter(leftOut func(n int)) *Reporter {
	r := &Reporter{leftOut: leftOut}
	r.idle.L = &r.mu
	return r
}

// canTake reports whether Take would succeed. If not, a report counts as left out.
func (r *Reporter) canTake() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepts()
}

// Take reports whether one more report can be written. If so, it is to be added then.
func (r *Reporter) Take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.accepts() {
		return false
	}
	r.taken++
	return true
}

func (r *Reporter) accepts() bool {
	if r.closed {
		return false
	}
	if now := time.Now(); now.Sub(r.began) >= reportsPeriod {
		r.began, r.taken = now, 0
	}
	if r.taken < MaxReports && len(r.queue) < MaxReports {
		return true
	}
	r.missed++
	if r.late == nil {
		r.late = time.AfterFunc(reportsPeriod, r.tellMissed)
	}
	return false
}

// Add has a report written.
func (r *Reporter) Add(report func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.push(report)
}

func (r *Reporter) push(report func()) {
	r.queue = append(r.queue, report)
	if !r.writes {
		r.writes = true
		go r.write()
	}
}

func (r *Reporter) tellMissed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.late = nil
	if n := r.missed; n > 0 {
		r.missed = 0
		r.push(func() { r.leftOut(n) })
	}
}

func (r *Reporter) write() {
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

// Close ends reporting and returns when everything is written.
func (r *Reporter) Close() {
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
