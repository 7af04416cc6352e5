package bench

import "context"

// receive takes what arrives on connections until one of them, or take, fails,
// which is its error, or ctx ends. take is called with the index of a connection
// and a message that is valid during the call, for each connection by one
// goroutine at a time. A connection that nothing arrives on costs nothing.
func receive(ctx context.Context, conns []*conn, take func(i int, msg []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer unpoll(conns)
	var readers group
	defer readers.Wait()
	if pollers, ok := newPollers(conns); ok {
		defer closePollers(pollers)
		defer context.AfterFunc(ctx, func() { closePollers(pollers) })()
		for _, p := range pollers {
			readers.Go(func() { cancel(p.run(conns, take)) })
		}
	} else {
		defer context.AfterFunc(ctx, func() { closeAll(conns) })()
		for i, c := range conns {
			readers.Go(func() { cancel(c.takeAll(i, take)) })
		}
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// receiving calls load while it receives. An error of either ends both and comes
// back.
func receiving(ctx context.Context, conns []*conn, take func(i int, msg []byte) error, load func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var reader group
	reader.Go(func() { cancel(receive(ctx, conns, take)) })
	err := load(ctx)
	cancel(errEnded)
	reader.Wait()
	if cause := context.Cause(ctx); cause != errEnded {
		return cause // that receiving failed says more than that sending did
	}
	return err
}

// takeAll takes messages until there is no other for now, if the connection is
// polled, or until it ends.
func (c *conn) takeAll(i int, take func(i int, msg []byte) error) error {
	for {
		msg, err := c.next()
		if err == nil {
			err = take(i, msg)
		}
		if err != nil {
			return err
		}
	}
}

// unpoll makes connections wait by themselves again.
func unpoll(conns []*conn) {
	for _, c := range conns {
		c.source.raw = nil
	}
}
