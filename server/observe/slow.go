package observe

import (
	"cmp"
	"iter"
	"maps"
	"sort"
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

// Open is what is open, such as event streams, with what is known of each. The zero value
// has nothing. Its methods can be called concurrently. All copies the list, so a caller
// may look at each of them without the lock.
type Open[K comparable, V any] struct {
	mu sync.Mutex
	of map[K]V
}

// Add notes something until remove is called.
func (o *Open[K, V]) Add(k K, v V) (remove func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of = make(map[K]V)
	}
	o.of[k] = v
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.of, k)
	}
}

// All yields what is open when it is called.
func (o *Open[K, V]) All() iter.Seq2[K, V] {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.All(maps.Clone(o.of))
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
	sort.Slice(slow, func(i, j int) bool {
		a, b := slow[i], slow[j]
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Connection, b.Connection)) < 0
	})
	return slow[:min(len(slow), slowShown)]
}
