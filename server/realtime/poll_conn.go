package realtime

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// A poll carries the messages of one conn over HTTP requests (protocol §14). It
// outlives the conn for a while, to tell the client to stop asking.
//
// up is held while pieces are put together and their messages handled, which
// may wait for the database; so may the making of answers, for which taking is
// held. mu never waits. A request that only asks for messages does not take up, so
// answers go out while a message is being handled. Lock order: taking, then mu.
//
// Every response has a number, and the client runs them in order. A response
// that is lost cannot be sent again, since the outbox has given up its
// messages: the connection ends, and the client connects anew.
type poll struct {
	c            *conn
	id, password string
	callback     wire.CallbackID
	woken        chan struct{} // has one element when the outbox may have something

	up     sync.Mutex // guards the fields below, and the order of requests
	pieces wire.Reassembler
	held   limit.Hold  // what pieces takes
	begun  time.Time   // when the message that is unfinished did; zero: there is none
	due    time.Time   // when more of it must have come
	stall  *time.Timer // for due
	ended  bool        // the client has said that this is all

	taking sync.Mutex // held while messages are taken from the outbox and made a response

	mu        sync.Mutex
	turns     int          // requests that are being answered
	waiting   *pollRequest // the one that waits for something to say
	newest    int64        // the highest serial number of a request
	responses int          // how many have been numbered
	answered  [2]int64
	answering int64  // the serial number of the request for which messages are taken, -1 for none
	moving    bool   // the next response is the last one, then the socket takes over
	lost      bool   // a response did not arrive, so the client waits in vain
	over      bool   // this is not the conn's transport any more
	last      []byte // what to reply when over, once
	retired   bool   // the server forgets it
	idle      *time.Timer
}

func newPoll(c *conn, callback wire.CallbackID) *poll {
	p := &poll{
		c:         c,
		id:        rand.Text(),
		password:  rand.Text(),
		callback:  callback,
		woken:     make(chan struct{}, 1),
		answered:  [2]int64{-1, -1},
		answering: -1,
	}
	p.pieces.MaxBytes = c.rt.maxMessage()
	p.held.Of = c.rt.opts.Peers.Resources(c.peer).Bodies
	p.idle = time.AfterFunc(PollFirst, p.expire)
	c.moved = make(chan struct{}) // before anyone sees the poll
	c.poll.Store(p)
	outbox.Copies(c.out, true)
	return p
}

// start returns the first response, which has the hello.
func (p *poll) start(hello []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.number([][]byte{hello})
}

// wake makes the request that waits look around. The outbox may call it.
func (p *poll) wake() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// isOver reports whether the poll has stopped being the conn's transport.
func (p *poll) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

// end makes the poll tell its client to stop asking, after what is ready in the
// outbox if it can be expected to hear that.
func (p *poll) end(reason closeReason) {
	if p.up.TryLock() { // otherwise the request that has it forgets them
		p.forgetPieces()
		p.up.Unlock()
	}
	takes := p.taking.TryLock() // otherwise the request that has it brings what it takes
	if takes {
		defer p.taking.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.over = true
	if reason.code == 0 {
		p.lost = true
	}
	if takes && !p.lost {
		p.last = p.rest()
	}
	p.c.out.Close()
	p.wake()
}

// abandon ends a connection whose client will not hear anything any more: its page is gone, or
// it did not get a response, so it keeps those that follow and waits for this one.
func (p *poll) abandon(reason closeReason) {
	p.mu.Lock()
	p.lost = true
	p.mu.Unlock()
	p.c.close(reason)
}

// expire runs when no request has come for a while.
func (p *poll) expire() {
	p.mu.Lock()
	busy := p.turns > 0
	p.mu.Unlock()
	if busy {
		return
	}
	if !p.isOver() {
		p.c.close(dropped)
	}
	p.retire()
}

// retire makes the server forget the poll.
func (p *poll) retire() {
	p.mu.Lock()
	p.retired = true
	p.idle.Stop()
	p.mu.Unlock()
	p.c.rt.removePoll(p)
}

// A pollRequest is one request of a poll while it is being answered. The client has
// one that waits, and sends a second one when it has something to say.
type pollRequest struct {
	serial   int64
	released chan struct{} // closed when it shall not wait any longer
	held     limit.Hold    // what its response takes, until it is sent
}

// PollBatch is about how much one response has at most, so that the client has
// something to work on while the next one is on its way.
const PollBatch = 256 << 10

// take returns the response to a request, nil if there is nothing to say. It counts until leave.
func (p *poll) take(t *pollRequest) []byte {
	p.taking.Lock()
	defer p.taking.Unlock()
	if !p.answers(t) {
		return p.response(t, nil)
	}
	body := p.response(t, outbox.TakeAway(p.c.out, PollBatch, &t.held))
	t.held.Settle(int64(cap(body)))
	return body
}

// response makes the response of the messages that were taken for a request.
func (p *poll) response(t *pollRequest, msgs [][]byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answering = -1
	switch {
	case p.over:
		if len(msgs) > 0 && !p.lost { // it ended meanwhile
			p.last = p.number(msgs)
		}
		return p.stopAsking()
	case p.lost:
		return nil
	case p.moving:
		return p.handOver(msgs)
	case len(msgs) == 0:
		return nil
	}
	p.answered[0], p.answered[1] = t.serial, p.answered[0]
	return p.number(msgs)
}

// answers reports whether messages are to be taken for a request, and notes it.
func (p *poll) answers(t *pollRequest) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.lost {
		return false
	}
	p.answering = t.serial
	return true
}

// isAnswered reports whether a request with this serial number got a response
// with messages, or may be about to. That it comes again, which is what browsers do by
// themselves when the network fails, means that the response was lost. It is not kept;
// the client has to connect anew.
func (p *poll) isAnswered(serial int64) bool {
	return serial == p.answered[0] || serial == p.answered[1] || serial == p.answering
}

// number makes messages the next response.
func (p *poll) number(msgs [][]byte) []byte {
	p.responses++
	return wire.AppendPollScript(nil, p.callback, p.responses-1, msgs)
}

// handOver returns the last response. What is in the outbox now goes to the
// socket, where the client keeps it until it has had this response
// (protocol §14.4).
func (p *poll) handOver(msgs [][]byte) []byte {
	p.over = true
	_, sock := p.c.transports()
	sock.goLive()
	body := p.number(append(msgs, wire.AppendControl(nil, wire.ControlEnd, "{}")))
	return append(body, p.stopAsking()...)
}

// pollRest is about how much of its outbox a poll that ends keeps for its client. It is part of
// what a connection takes, since it is kept until the client asks, and nothing else counts it.
const pollRest = 16 << 10

// rest returns a response with the first of what is ready in the outbox. The client asks again for
// the others when it is back: values are not read for a connection that has ended.
func (p *poll) rest() []byte {
	msgs := outbox.TakeRest(p.c.out, pollRest)
	if msgs == nil {
		return nil
	}
	return p.number(msgs)
}

// stopAsking returns the command that ends the polling, after the last response
// has arrived. What end left goes before it.
func (p *poll) stopAsking() []byte {
	last := p.responses - 1
	if p.lost {
		last = -1
	}
	body := wire.AppendCloseScript(p.last, p.callback, last)
	p.last = nil
	return body
}
