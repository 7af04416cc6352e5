package connect

import (
	"context"
	"errors"
	"sync"
)

// receive takes what arrives on connections until one of them, or take, fails,
// which is its error, or ctx ends. take is called with the index of a connection
// and a message that is valid during the call, for each connection by one
// goroutine at a time. A connection that nothing arrives on costs nothing.
func receive(ctx context.Context, conns []*Conn, take func(i int, msg []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer unpoll(conns)
	var readers sync.WaitGroup
	defer readers.Wait()
	if pollers, ok := newPollers(conns); ok {
		defer closePollers(pollers)
		defer context.AfterFunc(ctx, func() { closePollers(pollers) })()
		for _, p := range pollers {
			readers.Go(func() { cancel(p.run(conns, take)) })
		}
	} else {
		defer context.AfterFunc(ctx, func() { CloseAll(conns) })()
		for i, c := range conns {
			readers.Go(func() { cancel(c.takeAll(i, take)) })
		}
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// Receiving calls load while it receives. An error of either ends both and comes
// back.
func Receiving(ctx context.Context, conns []*Conn, take func(i int, msg []byte) error, load func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var reader sync.WaitGroup
	reader.Go(func() { cancel(receive(ctx, conns, take)) })
	err := load(ctx)
	cancel(ErrEnded)
	reader.Wait()
	if cause := context.Cause(ctx); cause != ErrEnded {
		return cause // that receiving failed says more than that sending did
	}
	return err
}

// takeAll takes messages until there is no other for now, if the connection is
// polled, or until it ends.
func (c *Conn) takeAll(i int, take func(i int, msg []byte) error) error {
	for {
		msg, err := c.Next()
		if err == nil {
			err = take(i, msg)
		}
		if err != nil {
			return err
		}
	}
}

// unpoll makes connections wait by themselves again.
func unpoll(conns []*Conn) {
	for _, c := range conns {
		c.source.raw = nil
	}
}

// ErrEnded is the cause of a context that ended because the load has.
var ErrEnded = errors.New("the load has ended")
