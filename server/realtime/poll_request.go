package realtime

import (
	"context"
	"time"
)

// enter begins to answer a request. It releases the one that waits: the newer
// one will. If a newer one came first, both are released, and so is one whose
// newer one has been answered already: some browsers run the replies only in
// the order of their requests.
func (p *poll) enter(serial int64) *pollRequest {
	t := &pollRequest{serial: serial, released: make(chan struct{})}
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
func (p *poll) leave(t *pollRequest) {
	t.held.End()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == t {
		p.waiting = nil
	}
	if p.turns--; p.turns == 0 && !p.retired {
		p.idle.Reset(PollIdle)
	}
	p.wake() // t may have been woken instead of the one that waits
}

// respond waits until there is something to say and returns it. It returns nil,
// an empty reply, when it is time for another request.
func (p *poll) respond(ctx context.Context, t *pollRequest) []byte {
	hold := time.NewTimer(PollHold)
	defer hold.Stop()
	for ctx.Err() == nil {
		if body := p.take(t); body != nil {
			return body
		}
		if reason, ends := p.wantsEnd(); ends {
			p.c.close(reason)
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
func (p *poll) wantsEnd() (closeReason, bool) {
	if err := p.c.out.Closing(); err != nil {
		return outboxError(err), true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return dropped, p.lost
}
