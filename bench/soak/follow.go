package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/bench/connect"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// A follower is a client that follows one stream or all of them.
//
// It has no knowledge of what the writers did. It knows a stream only from its
// pushes, as a client does, so a mistake of the server cannot be hidden by the
// generator.
type follower struct {
	streams []*stream
	window  int           // 0: everything
	leaves  string        // the path that counts how often it left; "" if it stays
	life    time.Duration // of its connections, on average
	slow    bool          // it reads too slowly

	mu    sync.Mutex // guards what follows
	view  *view
	left  int64         // how often it left after the server had promised to count that
	moved chan struct{} // gets an element when the view has changed
}

func newFollower(streams ...*stream) *follower {
	return &follower{streams: streams, view: newView(streams), moved: make(chan struct{}, 1)}
}

// Reading slowly: a rate that is below that of the events, and a small buffer in
// this system, though not below a few packets, with which networks do not flow at
// all. Pings of the server wait in the same queues as the events, so a slow client
// has to show by itself that it is there.
const (
	slowRate   = 16 << 10 // bytes per second
	slowBuffer = 256 << 10
	slowSign   = 30 * time.Second
)

// path is what a follower listens to.
func (f *follower) path() string {
	if len(f.streams) == 1 {
		return f.streams[0].path
	}
	return listPath
}

// follow connects, again and again if that is the follower's kind, and takes
// what comes until ctx ends.
func (s *soak) follow(ctx context.Context, f *follower) error {
	for {
		f.expect()
		var cut atomic.Bool
		err := s.connected(ctx, func(c *connect.Conn) error { return s.followOn(ctx, f, c, &cut) })
		switch {
		case ctx.Err() != nil:
			return nil
		case cut.Load():
			s.interval.reconnects.Add(1)
		case f.slow && isReset(err):
			s.dropped.Add(1) // a server need not bear it for ever
		default:
			return err
		}
	}
}

// expect notes what the next view must have in it: what is acknowledged by now.
func (f *follower) expect() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, st := range f.streams {
		f.view.streams[st.name].floor = st.acked.Load()
	}
}

// followOn follows over one connection.
func (s *soak) followOn(ctx context.Context, f *follower, c *connect.Conn, cut *atomic.Bool) error {
	if f.leaves != "" {
		if err := s.promise(f, c); err != nil {
			return err
		}
		defer time.AfterFunc(randomLife(f.life), func() {
			select {
			case <-s.ending: // the last connection stays
			default:
				cut.Store(true)
				c.Cut()
			}
		}).Stop()
	}
	if f.slow {
		c.ReceiveLittle(slowBuffer)
	}
	query := ""
	if f.window > 0 {
		query = fmt.Sprintf(`{"l":%d,"vf":"r"}`, f.window)
	}
	if err := c.Follow(f.path(), query); err != nil {
		return err
	}
	return s.take(ctx, f, c)
}

// promise has the server count when this connection ends.
func (s *soak) promise(f *follower, c *connect.Conn) error {
	err := c.CallWithin(bench.PostTimeout, func(dst []byte, id int64) []byte {
		return wire.AppendDisconnect(dst, id, wire.ActionDisconnectPut, f.leaves, increment)
	})
	if err != nil {
		return fmt.Errorf("onDisconnect: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left++
	return nil
}

// keepAlive is a frame that says that its sender is there (protocol §1.2).
const keepAlive = "0"

// increment is the server value that adds one.
const increment = `{".sv":{"increment":1}}`

// take takes what comes over a connection.
func (s *soak) take(ctx context.Context, f *follower, c *connect.Conn) error {
	loaded, shown := f.loaded(), time.Now()
	for {
		text, err := c.Next()
		if err != nil {
			return fmt.Errorf("follow %s: %w", f.path(), err)
		}
		m, err := wire.ParseServerMessage(text)
		switch {
		case err != nil:
			return err
		case m.Status != "" && m.Status != wire.StatusOK:
			return fmt.Errorf("listen: %w", &connect.RefusedError{Status: m.Status, Text: string(m.Data)})
		case m.Push != "":
			s.push(f, &m, loaded)
		}
		if !f.slow {
			continue
		}
		s.dawdle(ctx, len(text))
		if time.Since(shown) > slowSign {
			shown = time.Now()
			if err := c.Send([]byte(keepAlive)); err != nil {
				return err
			}
		}
	}
}

// loaded returns how many whole views there were.
func (f *follower) loaded() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view.reloads
}

// push changes the view. A client that reads in time gets a whole view once for each
// connection, and every event after it.
func (s *soak) push(f *follower, m *wire.ServerMessage, loaded int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	added, err := f.view.apply(m)
	if err == nil && !f.slow && f.view.reloads > loaded+1 {
		err = fmt.Errorf("the whole view came again: events were dropped")
	}
	if err != nil {
		s.Fault("a follower of %s (window %d): %v", f.path(), f.window, err)
	}
	if !f.slow {
		for _, row := range added {
			s.delivered(row)
		}
	}
	select {
	case f.moved <- struct{}{}:
	default:
	}
}

// delivered records how long after its time a message has arrived.
func (s *soak) delivered(row string) {
	var message struct{ At int64 }
	if err := json.Unmarshal([]byte(row), &message); err != nil {
		s.Fault("message %.200s: %v", row, err)
		return
	}
	s.interval.takes.Record(s.Now() - time.Duration(message.At)*time.Microsecond)
}

// dawdle waits for as long as a slow reader takes for some bytes, until the load
// is over.
func (s *soak) dawdle(ctx context.Context, bytes int) {
	timer := time.NewTimer(time.Duration(bytes) * time.Second / slowRate)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ending:
	case <-ctx.Done():
	}
}

// await waits until the follower has all that is acknowledged.
func (f *follower) await(ctx context.Context) error {
	for {
		missing := f.missing()
		if missing == nil {
			return nil
		}
		select {
		case <-f.moved:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), missing)
		}
	}
}

func (f *follower) missing() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, st := range f.streams {
		if p, acked := f.view.streams[st.name], st.acked.Load(); p.last < acked {
			return fmt.Errorf("a follower of %s (window %d) has message %d of %s, %d was acknowledged", f.path(), f.window, p.last, st.name, acked)
		}
	}
	return nil
}

// isReset reports whether the other side ended a connection, which is noticed by what
// is read, or by what is written.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
