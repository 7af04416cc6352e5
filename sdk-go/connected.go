package dogwood

import (
	"context"
	"iter"
)

// A connectionState says whether there is a connection, and tells those who
// want to know.
type connectionState struct {
	connected bool
	changed   chan struct{} // closed at the next change; nil if no caller waits
	err       error         // the client has ended
}

func (s *connectionState) set(connected bool) {
	if s.connected != connected {
		s.connected = connected
		s.tell()
	}
}

func (s *connectionState) end(err error) {
	s.connected, s.err = false, err
	s.tell()
}

func (s *connectionState) tell() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

func (s *connectionState) wait() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Connected yields whether the client is connected and signed in, now and after
// every change, until ctx ends or the loop is left. A slow loop sees the latest. An
// error is the last thing that it yields: that of ctx, or why the client has ended.
func (c *Client) Connected(ctx context.Context) iter.Seq2[bool, error] {
	return func(yield func(bool, error) bool) {
		told, last := false, false
		for {
			c.mu.Lock()
			now, err, changed := c.states.connected, c.states.err, c.states.wait()
			c.mu.Unlock()
			if err != nil {
				yield(false, err)
				return
			}
			if !told || now != last {
				if told, last = true, now; !yield(now, nil) {
					return
				}
				continue
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(false, ctx.Err())
				return
			}
		}
	}
}
