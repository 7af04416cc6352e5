package server

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/dogwooddb/dogwood/server/metrics"
	dsync "github.com/dogwooddb/dogwood/sync"
)

// slowShown bounds the clients that are shown.
const slowShown = 10

// A SlowClient is one that does not read what waits for it. Most are slow
// for a moment only.
type SlowClient struct {
	Connection string `json:"connection"` // as in the log
	Remote     string `json:"remote"`
	Via        string `json:"via,omitempty"` // proxy that tells that this is the address
	Namespace  string `json:"namespace"`
	Transport  string `json:"transport"`
	Bytes      int    `json:"bytes"`
	Messages   int    `json:"messages"`
}

// streams are the event streams that are open.
type streams struct {
	mu   sync.Mutex
	open map[*dsync.Outbox]SlowClient // without the numbers
}

// add notes a stream until remove is called.
func (s *streams) add(q *request, out *dsync.Outbox) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[*dsync.Outbox]SlowClient)
	}
	from := q.s.peers.Remote(q.r)
	s.open[out] = SlowClient{Connection: requestOf(q.w), Remote: from.Addr, Via: from.Via, Namespace: q.ns, Transport: "event_stream"}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, out)
	}
}

func (s *streams) all() map[*dsync.Outbox]SlowClient {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.open)
}

// slowClients returns those with the most bytes waiting.
func (s *Server) slowClients() []SlowClient {
	slow := []SlowClient{}
	add := func(c SlowClient, out *dsync.Outbox) {
		if c.Messages, c.Bytes = out.Backlog(); c.Messages > 0 {
			slow = append(slow, c)
		}
	}
	for out, c := range s.streams.all() {
		add(c, out)
	}
	for _, c := range s.rt.all() {
		add(c.described(), c.out)
	}
	slices.SortFunc(slow, func(a, b SlowClient) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Connection, b.Connection))
	})
	return slow[:min(len(slow), slowShown)]
}

// countSlow counts a client that is given up because it did not take in time what it
// was sent, if that is what err says.
func (s *Server) countSlow(err error, from string) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.refusals.add(metrics.SlowConsumer, from)
	}
}

// countSlow is that for the client of an event stream.
func (q *request) countSlow(err error) { q.s.countSlow(err, q.from()) }

// all returns the connections that are open.
func (rt *realtime) all() []*conn {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return slices.Collect(maps.Values(rt.conns))
}

func (c *conn) described() SlowClient {
	transport := "websocket"
	if poll, sock := c.transports(); poll != nil && sock == nil {
		transport = "long_poll"
	}
	return SlowClient{Connection: c.name, Remote: c.remote.Addr, Via: c.remote.Via, Namespace: c.ns, Transport: transport}
}
