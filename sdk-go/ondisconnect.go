package dogwood

import (
	"context"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// An OnDisconnect tells the server what to write at a place, once, when the
// connection of this client ends, in whatever way. It is of no use to the
// connection that the client makes then, so it belongs into a loop over
// Connected.
type OnDisconnect struct{ ref Ref }

// OnDisconnect returns what the server is to write here when the connection
// ends.
func (r Ref) OnDisconnect() OnDisconnect { return OnDisconnect{r} }

// Set makes the server replace the value.
func (o OnDisconnect) Set(ctx context.Context, value any) error {
	r := o.ref
	if r.err != nil {
		return r.failed("on disconnect", r.err)
	}
	w, err := encode(tree.Target{Path: r.path}, value)
	if err != nil {
		return r.failed("on disconnect", err)
	}
	return o.register(ctx, wire.ActionDisconnectPut, []byte(draftJSON(w.Value)), tree.Update{w})
}

// Update makes the server replace the values at several paths below.
func (o OnDisconnect) Update(ctx context.Context, values map[string]any) error {
	u, body, err := o.ref.merge(values)
	if err != nil {
		return o.ref.failed("on disconnect", err)
	}
	if len(u) == 0 {
		return nil
	}
	return o.register(ctx, wire.ActionDisconnectMerge, body, u)
}

// Remove makes the server remove the value.
func (o OnDisconnect) Remove(ctx context.Context) error { return o.Set(ctx, nil) }

// Cancel makes the server forget what it was to write here and below.
func (o OnDisconnect) Cancel(ctx context.Context) error {
	return o.register(ctx, wire.ActionDisconnectStop, []byte("null"), nil)
}

func (o OnDisconnect) register(ctx context.Context, action string, body []byte, u tree.Update) error {
	c, p := o.ref.client, o.ref.path
	if o.ref.err != nil {
		return o.ref.failed("on disconnect", o.ref.err)
	}
	return c.submit(ctx, &request{
		op: "on disconnect", path: p.String(),
		encode: func(dst []byte, id int64) []byte { return wire.AppendDisconnect(dst, id, action, p.String(), body) },
		settle: func(_ wire.ServerMessage, err error) {
			if err != nil {
				return
			}
			if action == wire.ActionDisconnectStop {
				c.left.cancel(p)
			}
			c.left.add(u)
		},
	}, nil)
}

// leftovers are what the server will write when the connection ends: later ones
// replace earlier ones. The client's own views show it when the connection is
// lost, long before the server can tell.
type leftovers []tree.Write

func (l *leftovers) add(u tree.Update) {
	for _, w := range u {
		l.drop(w.Target)
		*l = append(*l, w)
	}
}

// drop forgets what is at and below a target.
func (l *leftovers) drop(t tree.Target) {
	*l = slices.DeleteFunc(*l, func(w tree.Write) bool {
		return w.Target == t || !t.Priority && t.Path.Contains(w.Path)
	})
}

// cancel forgets what is at and below a place. What is written above it will
// leave the place out, which is more than need be known here.
func (l *leftovers) cancel(p tree.Path) {
	l.drop(tree.Target{Path: p})
	*l = slices.DeleteFunc(*l, func(w tree.Write) bool { return !w.Priority && w.Path.Contains(p) })
}

// runLeftovers returns what the server writes, and forgets it.
func (c *Client) runLeftovers(now time.Time) []tree.ResolvedWrite {
	left := c.left
	c.left = nil
	var writes []tree.ResolvedWrite
	for _, w := range left {
		one, err := c.guess(tree.Update{w}, now)
		if err == nil { // the server would refuse it, too
			writes = append(writes, one...)
		}
	}
	return writes
}
