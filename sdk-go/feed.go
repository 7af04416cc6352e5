package dogwood

import (
	"context"
	"sync"

	"github.com/dogwooddb/dogwood/sdk-go/internal/replica"
	"github.com/dogwooddb/dogwood/tree"
)

// maxFeedBytes bounds the states that wait in one feed, in addition to the latest. A
// larger state is made only when its turn comes, so a slow loop does not hold it.
const maxFeedBytes = replica.Large

// A feed is what waits for one consumer: the states of a view, oldest first. If
// there are too many, all but the latest are forgotten. So who is slow sees
// fewer states, but none out of order.
//
// The replica puts states into it under the client's lock, and the loop of the
// application takes them on its own goroutine. So a slow loop delays neither
// the connection nor other loops. Lock order: the client's, then the feed's.
type feed struct {
	max   int
	ready chan struct{} // has room for one

	// look returns what the view shows. It takes the client's lock, so it is not
	// called with the feed's.
	look func() replica.State

	mu     sync.Mutex
	states []replica.State
	bytes  int
	stale  bool  // after the states comes what the view shows then
	err    error // comes last
}

func newFeed(max int) *feed { return &feed{max: max, ready: make(chan struct{}, 1)} }

// Changed queues a state.
func (f *feed) Changed(s replica.State) {
	f.mu.Lock()
	size := len(s.Node.Text())
	if len(f.states) >= f.max || f.bytes+size > maxFeedBytes {
		f.states, f.bytes = nil, 0
	}
	f.states = append(f.states, s)
	f.bytes += size
	f.stale = false
	f.mu.Unlock()
	f.signal()
}

// Stale notes that there is another state, which is large.
func (f *feed) Stale() {
	f.mu.Lock()
	f.stale = true
	f.mu.Unlock()
	f.signal()
}

// Failed ends the feed.
func (f *feed) Failed(err error) {
	f.mu.Lock()
	f.err, f.stale = err, false // the view is gone
	f.mu.Unlock()
	f.signal()
}

func (f *feed) signal() {
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

// next waits for the next state. The end of the context comes first.
func (f *feed) next(ctx context.Context) (replica.State, error) {
	for {
		if err := ctx.Err(); err != nil {
			return replica.State{}, err
		}
		if s, ok, err := f.pop(); ok || err != nil {
			return s, err
		}
		select {
		case <-f.ready:
		case <-ctx.Done():
		}
	}
}

// next is that of the feed; the end of the context says why there is no connection.
func (c *Client) next(ctx context.Context, f *feed) (replica.State, error) {
	s, err := f.next(ctx)
	if err != nil && err == ctx.Err() {
		err = c.late(ctx)
	}
	return s, err
}

// pop returns the oldest state.
func (f *feed) pop() (s replica.State, ok bool, err error) {
	f.mu.Lock()
	if len(f.states) == 0 && f.stale {
		f.stale = false
		f.mu.Unlock()
		return f.look(), true, nil
	}
	defer f.mu.Unlock()
	if len(f.states) == 0 {
		return s, false, f.err
	}
	s = f.states[0]
	f.states[0] = replica.State{}
	f.states = f.states[1:]
	f.bytes -= len(s.Node.Text())
	return s, true, nil
}

// follow opens a view with a feed. stop must be called in the end.
func (c *Client) follow(p tree.Path, q tree.Query) (f *feed, v *replica.View, stop func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, nil, nil, c.err
	}
	f = newFeed(c.options.MaxQueue)
	f.look = func() replica.State {
		c.mu.Lock()
		defer c.mu.Unlock()
		return v.State()
	}
	v = c.replica.Open(p, q, f)
	return f, v, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.replica.Close(v, f)
	}, nil
}
