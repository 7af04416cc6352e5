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
type OnDisconnect struct {
	ref  Ref
	only *onlyIf // nil: in any case
}

// OnDisconnect returns what the server is to write here when the connection
// ends.
func (r Ref) OnDisconnect() OnDisconnect { return OnDisconnect{ref: r} }

// If makes the server write only if the place at a path below, "" for this one, has
// a value then: null, a boolean, a number, a string or more, but no server value. So
// the late end of an old connection does not undo what a new one has written:
//
//	me.OnDisconnect().If("session", id).Set(ctx, Presence{Online: false})
//	me.Set(ctx, Presence{Online: true, Session: id})
//
// The rules must let the client read that path. Operations inside of one another must
// have the same condition. The error is ErrUnsupported if the server has no
// conditions.
func (o OnDisconnect) If(path string, value any) OnDisconnect {
	at := o.ref.Child(path)
	w, err := encode(tree.Target{Path: at.path}, value)
	n, ok := w.Value.Node()
	switch {
	case at.err != nil:
		o.ref.err = at.err
	case err != nil:
		o.ref.err = err
	case !ok:
		o.ref.err = ErrValue
	}
	o.only = &onlyIf{at.path, n.Value()}
	return o
}

// An onlyIf is the condition that a place has a value.
type onlyIf struct {
	path  tree.Path
	value tree.Node
}

// holds reports whether a condition holds as far as the client knows. nil does.
func (o *onlyIf) holds(c *Client) bool {
	return o == nil || c.existing(tree.Target{}, o.path).Value() == o.value
}

// Set makes the server replace the value, by what Ref.Set takes. Server values are
// those of the moment when it is written. Set returns when the server has taken note.
func (o OnDisconnect) Set(ctx context.Context, value any) error {
	r := o.ref
	if err := r.check(); err != nil {
		return r.failed("on disconnect", err)
	}
	w, err := encode(tree.Target{Path: r.path}, value)
	if err != nil {
		return r.failed("on disconnect", err)
	}
	return o.register(ctx, wire.ActionDisconnectPut, []byte(draftJSON(w.Value)), tree.Update{w})
}

// Update makes the server replace the values at several paths below, as Ref.Update
// does.
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
	if err := o.ref.check(); err != nil {
		return o.ref.failed("on disconnect", err)
	}
	var feature string
	if o.only != nil {
		feature = wire.FeatureOnlyIf
	}
	return c.submit(ctx, &request{
		op: "on disconnect", path: p.String(), feature: feature,
		encode: func(dst []byte, id int64) []byte {
			dst = wire.AppendDisconnect(dst, id, action, p.String(), body)
			if o.only != nil && action != wire.ActionDisconnectStop {
				dst = wire.AppendOnlyIf(dst, p.Rel(o.only.path).Clean(), o.only.value.JSON())
			}
			return dst
		},
		settle: func(_ wire.ServerMessage, err error) {
			if err != nil {
				return
			}
			if action == wire.ActionDisconnectStop {
				c.left.cancel(p)
			}
			c.left.add(u, o.only)
		},
	}, nil)
}

// leftovers are what the server will write when the connection ends: later ones
// replace earlier ones. The client's own views show it when the connection is
// lost, long before the server can tell.
type leftovers []leftover

type leftover struct {
	tree.Write
	only *onlyIf
}

func (l *leftovers) add(u tree.Update, only *onlyIf) {
	for _, w := range u {
		l.drop(w.Target)
		*l = append(*l, leftover{w, only})
	}
}

// drop forgets what is at and below a target.
func (l *leftovers) drop(t tree.Target) {
	*l = slices.DeleteFunc(*l, func(w leftover) bool {
		return w.Target == t || !t.Priority && t.Path.Contains(w.Path)
	})
}

// cancel forgets the operations at and below a path. The server also takes the path out
// of operations above it, which this client need not know.
func (l *leftovers) cancel(p tree.Path) {
	l.drop(tree.Target{Path: p})
	*l = slices.DeleteFunc(*l, func(w leftover) bool { return !w.Priority && w.Path.Contains(p) })
}

// runLeftovers returns what the server writes, and forgets it.
func (c *Client) runLeftovers(now time.Time) []tree.ResolvedWrite {
	left := c.left
	c.left = nil
	var writes []tree.ResolvedWrite
	for _, w := range left {
		if !w.only.holds(c) {
			continue
		}
		one, err := c.guess(tree.Update{w.Write}, now)
		if err == nil { // the server would refuse it, too
			writes = append(writes, one...)
		}
	}
	return writes
}
