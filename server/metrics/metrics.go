package metrics

import (
	"sync/atomic"

	"github.com/dogwooddb/dogwood/sync/histogram"
)

// Metrics are the counts of one server.
//
// Counters are atomics of the parts that count, and are only turned into the
// form of Prometheus when a scrape asks. So an operation costs an addition, and
// a server that no one scrapes does no work for metrics.
type Metrics struct {
	Refused  Refusals
	Requests Requests

	WebSockets, LongPolls, EventStreams Connected

	HTTP, Sockets Traffic // of requests, and of WebSockets once they are open

	CredentialsRefused atomic.Uint64
}

// New returns metrics that have counted nothing.
func New() *Metrics {
	m := &Metrics{}
	for kind := range m.Requests.took {
		if Kind(kind).Timed() {
			m.Requests.took[kind] = histogram.Durations()
		}
	}
	return m
}

// Connected counts the connections of one kind.
type Connected struct {
	now   atomic.Int64
	total atomic.Uint64
}

// Open counts a connection until the function that it returns is called, once.
func (c *Connected) Open() (closed func()) {
	c.Opened()
	return c.Closed
}

// Opened counts a connection until Closed is called.
func (c *Connected) Opened() {
	c.now.Add(1)
	c.total.Add(1)
}

// Closed ends what Opened began.
func (c *Connected) Closed() { c.now.Add(-1) }

// Now returns how many there are.
func (c *Connected) Now() int64 { return c.now.Load() }

// Total returns how many there have been.
func (c *Connected) Total() uint64 { return c.total.Load() }

// Traffic counts bytes, without the headers of HTTP.
type Traffic struct{ in, out atomic.Uint64 }

// Received counts n bytes.
func (t *Traffic) Received(n int) { t.in.Add(uint64(n)) }

// Sent counts n bytes.
func (t *Traffic) Sent(n int) { t.out.Add(uint64(n)) }

// Bytes returns how many there were.
func (t *Traffic) Bytes() (in, out uint64) { return t.in.Load(), t.out.Load() }
