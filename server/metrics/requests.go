package metrics

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/sync/histogram"
)

// A Kind is what a request is for.
type Kind uint8

// The kinds.
const (
	Other Kind = iota
	RESTRead
	RESTWrite
	EventStream // until it ends
	WebSocket   // the handshake
	LongPoll    // which waits for something to say
	Management  // /.settings and /.inspect
	Token
	Health
	kindCount
)

// kinds are the labels, in the same order.
var kinds = [kindCount]string{"other", "rest_read", "rest_write", "event_stream", "websocket", "long_poll", "management", "token", "health"}

// String returns the label of a kind.
func (k Kind) String() string { return kinds[k] }

// Timed reports whether it says something how long such a request takes. Others
// last for as long as their clients want.
func (k Kind) Timed() bool { return k != EventStream && k != LongPoll && k != WebSocket }

// Statuses of HTTP that are counted one by one.
const (
	minStatus = 100
	maxStatus = 599

	// Left stands for requests whose client was gone before there was an answer.
	Left = 499
)

// Requests count by kind and status, and how long they took. Kinds and statuses
// are known beforehand, so clients cannot make new time series.
type Requests struct {
	counts [kindCount][maxStatus - minStatus + 1]atomic.Uint64
	took   [kindCount]*histogram.Histogram // nil: not timed
}

// Add counts a request that was answered. A status that HTTP does not know counts
// as Left. How long the client of a refused address had to wait says nothing of the server.
func (r *Requests) Add(kind Kind, status int, took time.Duration) {
	if status < minStatus || status > maxStatus {
		status = Left
	}
	r.counts[kind][status-minStatus].Add(1)
	if h := r.took[kind]; h != nil && status != http.StatusTooManyRequests {
		h.Observe(took)
	}
}

// Of returns how many were answered with a status.
func (r *Requests) Of(kind Kind, status int) uint64 { return r.counts[kind][status-minStatus].Load() }

// Total returns how many there were.
func (r *Requests) Total() (n uint64) {
	for kind := range r.counts {
		for status := range r.counts[kind] {
			n += r.counts[kind][status].Load()
		}
	}
	return n
}
