package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/dogwooddb/dogwood/bench/connect"
)

// Idle opens connections that follow a path each and then do nothing. It counts
// connecting, from the handshake to the first view; then it holds the connections and
// measures the memory of the server.
type Idle struct {
	Connections int `json:"connections" help:"Connections. --duration says how long they are held." default:"10000" env:"-"`
}

func (Idle) Name() string                { return "idle" }
func (Idle) About() (unit, rules string) { return "connections", openRules }

func (w Idle) Describe() string {
	return fmt.Sprintf("%d connections with a listener each", w.Connections)
}

func (w Idle) WithDefaults() (Workload, error) {
	err := Setting("connections", &w.Connections, 10_000, 1, MaxConnections)
	return w, err
}

func (w Idle) Drive(ctx context.Context, r *Load) error {
	hold := r.length
	r.warmup, r.length, r.count = 0, 0, int64(w.Connections)
	before := usagesOf(r.Target.PID).server
	r.Begin()
	conns, err := w.connect(ctx, r)
	defer connect.CloseAll(conns)
	if err != nil {
		return err
	}
	r.Measure("held", float64(len(conns)), "connections")
	return stayIdle(ctx, conns, hold, func() {
		after := usagesOf(r.Target.PID).server
		if after.resident == 0 {
			return // the server is elsewhere
		}
		r.Measure("resident before", float64(before.resident)/(1<<20), "MiB")
		r.Measure("resident after", float64(after.resident)/(1<<20), "MiB")
		r.Measure("per connection", float64(after.resident-before.resident)/float64(len(conns))/(1<<10), "KiB")
	})
}

// connect makes all connections, as fast as answers come or at a rate.
func (w Idle) connect(ctx context.Context, r *Load) ([]*connect.Conn, error) {
	conns := make([]*connect.Conn, w.Connections)
	err := connect.Parallel(ctx, w.Connections, connect.Dialing, func(ctx context.Context, i int) error {
		due, ok := r.Next()
		if !ok || !r.Wait(ctx, due) {
			return ctx.Err()
		}
		c, err := connect.Dial(ctx, r.Target, connect.IdleBuffer)
		if err != nil {
			return fmt.Errorf("connection %d: %w", i+1, err)
		}
		conns[i] = c
		if err := c.Listen("idle/c"+strconv.Itoa(i), ""); err != nil {
			return err
		}
		r.Done(i, due)
		return nil
	})
	return conns, err
}

// stayIdle reads from all connections, to answer pings, and ends after a while,
// when it calls held, or with the first error.
func stayIdle(ctx context.Context, conns []*connect.Conn, hold time.Duration, held func()) error {
	err := connect.Receiving(ctx, conns, func(int, []byte) error { return nil }, func(ctx context.Context) error {
		if Sleep(ctx, hold) {
			held()
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("a connection was lost: %w", err)
	}
	return err
}
