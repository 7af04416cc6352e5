package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Idle opens connections that follow a path each and then do nothing. What is
// counted is connecting, from the handshake to the first view; then they are
// held, and the memory of the server is measured.
type Idle struct {
	Connections int `json:"connections"` // 10,000
}

func (Idle) Name() string  { return "idle" }
func (Idle) unit() string  { return "connections" }
func (Idle) rules() string { return openRules }

func (w Idle) Describe() string {
	return fmt.Sprintf("%d connections with a listener each", w.Connections)
}

func (w Idle) withDefaults() Workload {
	orElse(&w.Connections, 10_000)
	return w
}

func (w Idle) check() error { return within("connections", w.Connections, 1, maxConnections) }

// idleBuffer is the smallest read buffer that does: there are many.
const idleBuffer = 512

func (w Idle) drive(ctx context.Context, r *run) error {
	hold := r.length
	r.warmup, r.length, r.count = 0, 0, int64(w.Connections)
	before := usagesOf(r.Target.PID).server
	r.begin()
	conns, err := w.connect(ctx, r)
	defer closeAll(conns)
	if err != nil {
		return err
	}
	r.measure("held", float64(len(conns)), "connections")
	return stayIdle(ctx, conns, hold, func() {
		after := usagesOf(r.Target.PID).server
		if after.resident == 0 {
			return // the server is elsewhere
		}
		r.measure("resident before", float64(before.resident)/(1<<20), "MiB")
		r.measure("resident after", float64(after.resident)/(1<<20), "MiB")
		r.measure("per connection", float64(after.resident-before.resident)/float64(len(conns))/(1<<10), "KiB")
	})
}

// connect makes all connections, as fast as answers come or at a rate.
func (w Idle) connect(ctx context.Context, r *run) ([]*conn, error) {
	conns := make([]*conn, w.Connections)
	err := parallel(ctx, w.Connections, dialing, func(ctx context.Context, i int) error {
		due, ok := r.next()
		if !ok || !r.wait(ctx, due) {
			return ctx.Err()
		}
		c, err := dial(ctx, r.Target, idleBuffer)
		if err != nil {
			return fmt.Errorf("connection %d: %w", i+1, err)
		}
		conns[i] = c
		if err := c.listen("idle/c"+strconv.Itoa(i), ""); err != nil {
			return err
		}
		r.done(i, due)
		return nil
	})
	return conns, err
}

// stayIdle reads from all connections, to answer pings, and ends after a while,
// when it calls held, or with the first error.
func stayIdle(ctx context.Context, conns []*conn, hold time.Duration, held func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var readers group
	for _, c := range conns {
		readers.Go(func() {
			for {
				if _, err := c.next(); err != nil {
					cancel(fmt.Errorf("a connection was lost: %w", err))
					return
				}
			}
		})
	}
	timer := time.NewTimer(hold)
	defer timer.Stop()
	select {
	case <-timer.C:
		held()
		cancel(errEnded)
	case <-ctx.Done():
	}
	closeAll(conns)
	readers.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, errEnded) {
		return cause
	}
	return nil
}
