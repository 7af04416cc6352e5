package limit

import (
	"errors"
	"sync"
	"time"
)

// A Joint makes one result for all callers that ask at about the same time, however many there
// are. It is for results that many strangers may ask for and that must not be old: none is begun
// before it was asked for. One is made at a time, for a tenth of the time at most unless its
// callers would have to wait for long. The zero Joint is ready for use.
type Joint struct {
	mu   sync.Mutex
	next *result       // of the callers since the last one was begun; nil: there are none
	turn chan struct{} // full while one is made, and while the Joint rests
}

// A result is what callers wait for.
type result struct {
	done chan struct{} // closed when err is there
	err  error
}

// How long a Joint rests: so many times as long as the last result took.
const (
	rests   = 9
	maxRest = 100 * time.Millisecond
)

var errNoResult = errors.New("limit: there is no result")

// Do returns what f of one of the callers returns, which is called after Do was.
func (j *Joint) Do(f func() error) error {
	r, first := j.join()
	if !first {
		<-r.done
		return r.err
	}
	defer close(r.done)
	j.turn <- struct{}{}
	defer j.rest(time.Now())
	j.begin()
	r.err = errNoResult // if f panics
	r.err = f()
	return r.err
}

// join returns the next result, and whether the caller has to make it.
func (j *Joint) join() (r *result, first bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.turn == nil {
		j.turn = make(chan struct{}, 1)
	}
	if j.next != nil {
		return j.next, false
	}
	j.next = &result{done: make(chan struct{})}
	return j.next, true
}

// begin has later callers wait for another result.
func (j *Joint) begin() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.next = nil
}

// rest lets the next result be made after a while.
func (j *Joint) rest(began time.Time) {
	if d := min(rests*time.Since(began), maxRest); d > 0 {
		time.AfterFunc(d, func() { <-j.turn })
		return
	}
	<-j.turn
}
