package realtime

import (
	"context"
	"errors"
	"time"

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
	if len(pieces) == 0 { // it only asks, and must not wait for one that brings something
		return nil
	}
	err := p.add(pieces)
	if isClosed(p.c.ended) {
		p.up.Lock()
		defer p.up.Unlock()
		p.forgetPieces()
	}
	return err
}

// add handles the messages that pieces complete.
func (p *poll) add(pieces []wire.Piece) error {
	p.up.Lock()
	defer p.up.Unlock()
	for _, piece := range pieces {
		if isClosed(p.c.ended) {
			return goingAway
		}
		msgs, err := p.pieces.Add(piece)
		if err == nil {
			err = p.keep(msgs)
		}
		if err != nil {
			return err
		}
		for _, msg := range msgs {
			if err := p.message(msg); err != nil {
				return err
			}
		}
		p.settle()
	}
	p.await()
	return nil
}

// keep makes what is unfinished, and messages that were not handled yet, count for the
// address of the client.
func (p *poll) keep(msgs []string) error {
	n := p.pieces.Held()
	for _, msg := range msgs {
		n += int64(len(msg))
	}
	if more := n - p.held.Size(); n > smallMessage && more > 0 && p.held.Grow(more) != nil {
		return overloaded
	}
	return nil
}

// settle gives back what was kept for messages that have been handled.
func (p *poll) settle() {
	if n := p.pieces.Held(); n < p.held.Size() {
		p.held.Settle(n)
	}
}

// await sets when more of an unfinished message must have come, after a piece has: like one over a
// WebSocket it may not stall, and it needs to come at pieceRate.
func (p *poll) await() {
	n := p.pieces.Held()
	switch {
	case n == 0:
		p.begun = time.Time{}
		if p.stall != nil {
			p.stall.Stop()
		}
		return
	case p.begun.IsZero():
		p.begun = time.Now()
	}
	p.due = time.Now().Add(p.c.rt.opts.Limits.Stalled)
	if last := p.begun.Add(Silence + time.Duration(n/pieceRate)*time.Second); last.Before(p.due) {
		p.due = last
	}
	if p.stall == nil {
		p.stall = time.AfterFunc(time.Until(p.due), p.stalled)
		return
	}
	p.stall.Reset(time.Until(p.due))
}

// stalled ends the connection if nothing more of its message has come.
func (p *poll) stalled() {
	p.up.Lock()
	late := !p.begun.IsZero() && !time.Now().Before(p.due)
	p.up.Unlock()
	if late {
		p.c.close(p.c.rt.countEnd(silent, p.c.remote.Addr))
	}
}

// forgetPieces forgets the messages that will not be finished. up is held.
func (p *poll) forgetPieces() {
	p.pieces = wire.Reassembler{}
	p.held.End()
	p.await()
}

// message handles one message. It cannot wait until the outbox is less full, since
// it may be the very request that would empty it; no client of good faith has
// that many replies open. If the outbox fills up after that, this message is handled
// all the same.
func (p *poll) message(text string) error {
	switch {
	case p.ended:
		return closeReason{closeProtocolError, "a message after the last one"}
	case p.c.out.Wait(gone) != nil:
		return closeReason{closePolicy, "too many requests before their replies were read"}
	case p.c.throttle.wait(p.c.ctx) != nil:
		return dropped
	}
	return p.c.take(text, p.control)
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
