package server

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// Times of a poll. Clients ask again at once, and at least every 25 seconds.
const (
	pollFirst = 30 * time.Second // from the start to the first poll
	pollIdle  = 60 * time.Second // without any poll: the client is gone
)

// A poll carries the messages of one conn over HTTP requests (protocol §14). It
// outlives the conn for a while, to tell the client to stop asking.
type poll struct {
	c            *conn
	id, password string
	callback     wire.CallbackID
	woken        chan struct{} // has one element when the outbox may have something

	up     sync.Mutex // guards the fields below, and the order of requests
	pieces wire.Reassembler
	ended  bool // the client has said that this is all

	mu        sync.Mutex
	turns     int   // requests that are being answered
	waiting   *turn // the one that waits for something to say
	newest    int64 // the highest serial number of a request
	responses int   // how many have been numbered
	answered  [2]int64
	moving    bool   // the next response is the last one, then the socket takes over
	lost      bool   // a response did not arrive, so the client waits in vain
	over      bool   // this is not the conn's transport any more
	last      []byte // what to reply when over, once
	retired   bool   // the server forgets it
	idle      *time.Timer
}

func newPoll(c *conn, callback wire.CallbackID) *poll {
	p := &poll{
		c:        c,
		id:       rand.Text(),
		password: rand.Text(),
		callback: callback,
		woken:    make(chan struct{}, 1),
		answered: [2]int64{-1, -1},
	}
	p.pieces.MaxBytes = c.rt.maxMessage()
	p.idle = time.AfterFunc(pollFirst, p.expire)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.poll = p
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

// end makes the poll tell its client to stop asking, after the rest of the
// outbox if it can be expected to hear that.
func (p *poll) end(bye goodbye) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.over = true
	if bye.code == 0 {
		p.lost = true
	}
	if !p.lost {
		p.last = p.rest()
	}
	p.c.out.Close()
	p.wake()
}

// responseLost ends a connection whose client did not get a response: it keeps
// those that follow and waits for this one.
func (p *poll) responseLost() {
	p.mu.Lock()
	p.lost = true
	p.mu.Unlock()
	p.c.close(dropped)
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
