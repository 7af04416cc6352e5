package server

import (
	"context"
	"time"
)

// pollHold is how long a poll waits for something to say. Browsers give up on
// one after 25 seconds (protocol §14.2), counted from before it was sent.
const pollHold = 20 * time.Second

// A turn is one request of a poll while it is being answered. The client has
// one that waits, and sends a second one when it has something to say.
type turn struct {
	serial   int64
	released chan struct{} // closed when it shall not wait any longer
}

// enter begins to answer a request. It releases the one that waits: the newer
// one will. If a newer one came first, both are released, and so is one whose
// newer one has been answered already: some browsers run the replies only in
// the order of their requests.
func (p *poll) enter(serial int64) *turn {
	t := &turn{serial, make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns++
	p.idle.Stop()
	if p.isAnswered(serial) {
		p.lost = true
	}
	if p.waiting != nil {
		close(p.waiting.released)
		p.waiting = nil
	}
	if serial < p.newest {
		close(t.released)
		return t
	}
	p.newest = serial
	p.waiting = t
	return t
}

// leave ends what enter began.
func (p *poll) leave(t *turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == t {
		p.waiting = nil
	}
	if p.turns--; p.turns == 0 && !p.retired {
		p.idle.Reset(pollIdle)
	}
	p.wake() // t may have been woken instead of the one that waits
}

// respond waits until there is something to say and returns it. It returns nil,
// an empty reply, when it is time for another request.
func (p *poll) respond(ctx context.Context, t *turn) []byte {
	hold := time.NewTimer(pollHold)
	defer hold.Stop()
	for ctx.Err() == nil {
		if body := p.take(t); body != nil {
			return body
		}
		if bye, ends := p.wantsEnd(); ends {
			p.c.close(bye)
			continue
		}
		select {
		case <-p.woken:
		case <-t.released:
			return nil
		case <-hold.C:
			return nil
		case <-ctx.Done():
		}
	}
	return nil
}

// wantsEnd reports whether the connection cannot go on.
func (p *poll) wantsEnd() (goodbye, bool) {
	if err := p.c.out.Closing(); err != nil {
		return outboxError(err), true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return dropped, p.lost
}
