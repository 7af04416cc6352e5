package server

import "github.com/dogwooddb/dogwood/sync/wire"

// pollBatch is about how much one response has at most, so that the client has
// something to work on while the next one is on its way.
const pollBatch = 256 << 10

// take returns the response to a request, nil if there is nothing to say.
func (p *poll) take(t *turn) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return p.stopAsking()
	}
	if p.lost {
		return nil
	}
	msgs := p.c.out.Take(pollBatch)
	if p.moving {
		return p.handOver(msgs)
	}
	if len(msgs) == 0 {
		return nil
	}
	p.answered[0], p.answered[1] = t.serial, p.answered[0]
	return p.number(msgs)
}

// isAnswered reports whether a request with this serial number got a response
// with messages. That it comes again, which is what browsers do by themselves
// when the network fails, means that the response was lost. It is not kept; the
// client has to connect anew.
func (p *poll) isAnswered(serial int64) bool {
	return serial == p.answered[0] || serial == p.answered[1]
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

// rest returns a response with all that is left in the outbox.
func (p *poll) rest() []byte {
	var all [][]byte
	for msgs := p.c.out.Take(pollBatch); len(msgs) > 0; msgs = p.c.out.Take(pollBatch) {
		all = append(all, msgs...)
	}
	if all == nil {
		return nil
	}
	return p.number(all)
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
