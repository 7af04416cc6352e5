package observe

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/dogwooddb/dogwood/sync/outbox"
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

// Streams are the event streams that are open. The zero value has none.
type Streams struct {
	mu   sync.Mutex
	open map[*outbox.Outbox]SlowClient // without the numbers
}

// Add notes a stream until remove is called.
func (s *Streams) Add(out *outbox.Outbox, c SlowClient) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[*outbox.Outbox]SlowClient)
	}
	s.open[out] = c
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, out)
	}
}

// All yields the streams that are open.
func (s *Streams) All() iter.Seq2[*outbox.Outbox, SlowClient] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.All(maps.Clone(s.open))
}

// Slowest returns the clients with the most bytes waiting.
func Slowest(clients ...iter.Seq2[*outbox.Outbox, SlowClient]) []SlowClient {
	slow := []SlowClient{}
	for _, some := range clients {
		for out, c := range some {
			if c.Messages, c.Bytes = out.Backlog(); c.Messages > 0 {
				slow = append(slow, c)
			}
		}
	}
	slices.SortFunc(slow, func(a, b SlowClient) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Connection, b.Connection))
	})
	return slow[:min(len(slow), slowShown)]
}
