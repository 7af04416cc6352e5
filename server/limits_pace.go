package server

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/peer"
	dsync "github.com/dogwooddb/dogwood/sync"
)

// A pace holds up a realtime connection whose client, or whose address, sends more
// messages per second than it may. Meanwhile nothing is read from it. A nil pace
// lets everything through.
type pace struct {
	own, address *rate.Limiter
	refusals     *observe.Refusals
	from         string // address
}

// newPace returns the pace of a new connection, nil for addresses without bounds.
func (s *Server) newPace(a *peer.Client) *pace {
	if a == nil {
		return nil
	}
	return &pace{peer.NewLimiter(s.opts.MessageRate, s.opts.MessageBurst), a.Requests, s.refusals, a.Name}
}

// wait returns when the next message may be handled, or ctx ends.
func (p *pace) wait(ctx context.Context) error {
	if p == nil {
		return nil
	}
	if !p.own.Allow() {
		p.refusals.Add(metrics.SessionRequests, p.from)
		if err := p.own.Wait(ctx); err != nil {
			return err
		}
	}
	if p.address.Allow() {
		return nil
	}
	p.refusals.Add(metrics.AddressRequests, p.from)
	return p.address.Wait(ctx)
}

// charge has a message count as so many more. The next ones wait for it.
func (p *pace) charge(more int) {
	if p != nil {
		charge(p.own, more)
		charge(p.address, more)
	}
}

// charge takes from a limiter what was done already, and so cannot wait: at most all
// that it lets through at once.
func charge(l *rate.Limiter, n int) {
	if n = min(n, l.Burst()); n > 0 {
		l.ReserveN(time.Now(), n)
	}
}

// keepPace waits when the client sends too much, and is called by the reader.
func (s *socket) keepPace() error {
	if s.c != nil && s.c.pace.wait(s.c.ctx) != nil {
		return dropped
	}
	return nil
}

// countsAsMessage reports whether a frame of text counts as a message. One that comes in
// pieces counts with its first frame, which has their number, and its pieces do not: they
// cost by their bytes. But no client makes short ones, save the last.
func countsAsMessage(text string, piece, last bool) bool {
	return !piece || !last && len(text) <= smallMessage
}

// bodies returns what bounds messages that are not complete.
func (s *socket) bodies() *limit.Share {
	if s.c == nil {
		return s.rt.s.all.Bodies
	}
	return s.rt.s.peers.Resources(s.c.peer).Bodies
}

// limited counts that an operation came up against a bound of the engine.
func (c *conn) limited(b dsync.Bound) { c.rt.s.refusals.Add(metrics.Bounds[b], c.remote.Addr) }
