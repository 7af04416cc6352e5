package server

import (
	"context"
	"sync"
	"time"
)

// A readContext is the context of a read, which ends with the request or after the
// time that it allows. Reads look at Err now and then, and most are over before
// they do; a timer is only started for those who wait.
type readContext struct {
	context.Context // of the request
	ends            time.Time

	once   sync.Once
	timed  context.Context
	cancel context.CancelFunc
}

// newReadContext returns the context of a read that ends after a time at the latest, and
// what has to be called when the read is over.
func newReadContext(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	c := &readContext{Context: ctx, ends: time.Now().Add(timeout)}
	return c, c.end
}

func (c *readContext) start() { c.timed, c.cancel = context.WithDeadline(c.Context, c.ends) }

// end stops the timer. The context may go on to be used: it has ended.
func (c *readContext) end() {
	c.once.Do(func() { c.timed, c.cancel = endedContext, func() {} })
	c.cancel()
}

var endedContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func (c *readContext) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.ends) {
		return d, true
	}
	return c.ends, true
}

func (c *readContext) Done() <-chan struct{} {
	c.once.Do(c.start)
	return c.timed.Done()
}

func (c *readContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if !time.Now().Before(c.ends) {
		return context.DeadlineExceeded
	}
	return nil
}
