package realtime

import (
	"context"

	"golang.org/x/time/rate"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/peer"
)

// A throttle delays a connection whose client, or whose address, sends more messages per
// second than it may. Meanwhile nothing is read from it. A nil throttle lets everything
// through.
type throttle struct {
	own, address *rate.Limiter
	refusals     *observe.Refusals
	from         string // address
}

// newThrottle returns the throttle of a new connection, nil for addresses without bounds.
func (rt *Server) newThrottle(a *peer.Client) *throttle {
	if a == nil {
		return nil
	}
	return &throttle{peer.NewLimiter(rt.opts.Limits.MessageRate, rt.opts.Limits.MessageBurst), a.Requests, rt.opts.Refusals, a.Name}
}

// wait returns when the next message may be handled, or ctx ends.
func (t *throttle) wait(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if !t.own.Allow() {
		t.refusals.Add(metrics.SessionRequests, t.from)
		if err := t.own.Wait(ctx); err != nil {
			return err
		}
	}
	if t.address.Allow() {
		return nil
	}
	t.refusals.Add(metrics.AddressRequests, t.from)
	return t.address.Wait(ctx)
}

// charge has a message count as so many more. The next ones wait for it.
func (t *throttle) charge(more int) {
	if t != nil {
		peer.Charge(t.own, more)
		peer.Charge(t.address, more)
	}
}
