package connect

import (
	"context"
	"sync"
	"sync/atomic"
)

// Dialing is how many connections are made at a time.
const Dialing = 32

// CloseAll closes connections; nil ones are left out.
func CloseAll(conns []*Conn) {
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
}

// Parallel calls f for 0 to n-1, at most limit at a time, until one fails. It
// returns the first error. The first error ends the others, since a load with
// some of its connections missing measures something else.
func Parallel(ctx context.Context, n, limit int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, limit) {
		wg.Go(func() {
			for i := int(next.Add(1) - 1); i < n && ctx.Err() == nil; i = int(next.Add(1) - 1) {
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// DialAll makes n connections and calls ready, if not nil, for each.
func DialAll(ctx context.Context, t Target, n, buffer int, ready func(i int, c *Conn) error) (conns []*Conn, err error) {
	conns = make([]*Conn, n)
	err = Parallel(ctx, n, Dialing, func(ctx context.Context, i int) error {
		c, err := Dial(ctx, t, buffer)
		if err != nil {
			return err
		}
		conns[i] = c
		if ready != nil {
			return ready(i, c)
		}
		return nil
	})
	if err != nil {
		CloseAll(conns)
		return nil, err
	}
	return conns, nil
}
