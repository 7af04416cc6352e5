package realtime

import (
	"context"
	"errors"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// receive takes pieces of messages and handles the messages that are complete,
// whatever order the requests came in. It ends the connection if they are not
// what a client sends.
func (p *poll) receive(pieces []wire.Piece) {
	err := p.handle(pieces)
	if err == nil {
		return
	}
	var reason closeReason
	if !errors.As(err, &reason) {
		reason = frameError(err)
	}
	p.c.close(p.c.rt.countEnd(reason, p.c.remote.Addr))
}

func (p *poll) handle(pieces []wire.Piece) error {
	p.up.Lock()
	defer p.up.Unlock()
	for _, piece := range pieces {
		msgs, err := p.pieces.Add(piece)
		if err != nil {
			return err
		}
		for _, msg := range msgs {
			if err := p.message(msg); err != nil {
				return err
			}
		}
	}
	return nil
}

// message handles one message. It cannot wait until the outbox is less full, since
// it may be the very request that would empty it; no client of good faith has
// that many replies open.
func (p *poll) message(text string) error {
	switch {
	case p.ended:
		return closeReason{closeProtocolError, "a message after the last one"}
	case p.c.out.Wait(gone) != nil:
		return closeReason{closePolicy, "too many requests before their replies were read"}
	case p.c.throttle.wait(p.c.ctx) != nil:
		return dropped
	}
	return p.c.receive(text, p.control)
}

// gone is a context that has ended, for what must not wait.
var gone = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// control acts on a control message: a ping wants an answer, an end moves the
// conn to the socket that it has meanwhile (protocol §14.4).
func (p *poll) control(typ string) error {
	switch typ {
	case wire.ControlPing:
		p.c.out.PushFrame(wire.AppendControl(nil, wire.ControlPong, "null"))
	case wire.ControlEnd:
		if !p.c.move() {
			return closeReason{closeProtocolError, "an end without a socket"}
		}
		p.ended = true
		p.move()
	}
	return nil
}

// move makes the next response the last one.
func (p *poll) move() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moving = true
	p.wake()
}
