package dogwood

import (
	"context"
	"encoding/json"
	"time"

	"github.com/dogwooddb/dogwood/sdk-go/internal/replica"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// Set replaces the value, with everything below. nil, and what is empty, removes
// it. The value is what encoding/json makes of it, with ServerTimestamp,
// Increment and WithPriority anywhere inside.
func (r Ref) Set(ctx context.Context, value any) error {
	return r.put(ctx, "set", tree.Target{Path: r.path}, value)
}

// SetWithPriority replaces the value and the priority.
func (r Ref) SetWithPriority(ctx context.Context, value, priority any) error {
	return r.Set(ctx, WithPriority(value, priority))
}

// SetPriority changes the priority alone: a number, a string, or nil for none.
func (r Ref) SetPriority(ctx context.Context, priority any) error {
	return r.put(ctx, "set priority", tree.Target{Path: r.path, Priority: true}, priority)
}

// Remove removes the value, with everything below.
func (r Ref) Remove(ctx context.Context) error {
	return r.put(ctx, "remove", tree.Target{Path: r.path}, nil)
}

// Push sets a new child and returns it, also with an error, which is that of Set. See
// NewChild for its key.
func (r Ref) Push(ctx context.Context, value any) (Ref, error) {
	child := r.NewChild()
	return child, child.put(ctx, "push", tree.Target{Path: child.path}, value)
}

// Update replaces the values at several paths below, "members/ana" and so on,
// all at once or none of them. nil removes one. No path may be inside of another
// one; without any, nothing is sent.
func (r Ref) Update(ctx context.Context, values map[string]any) error {
	u, q, err := r.mergeRequest(values)
	if err != nil || len(u) == 0 {
		return err
	}
	return r.client.write(ctx, u, q)
}

// mergeRequest returns the request of an update.
func (r Ref) mergeRequest(values map[string]any) (tree.Update, *request, error) {
	u, body, err := r.merge(values)
	if err != nil {
		return nil, nil, r.failed("update", err)
	}
	return u, &request{
		op: "update", path: r.path.String(), repeats: true,
		encode: func(dst []byte, id int64) []byte { return wire.AppendMerge(dst, id, r.path.String(), body) },
	}, nil
}

// merge reads values for paths below and returns what is sent.
func (r Ref) merge(values map[string]any) (tree.Update, []byte, error) {
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	raw := make(map[string]json.RawMessage, len(values))
	for path, value := range values {
		if s, ok := value.(Snapshot); ok {
			value = json.RawMessage(s.node.JSON())
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, nil, invalidValue(err)
		}
		raw[path] = text
	}
	text, err := json.Marshal(raw)
	if err != nil {
		return nil, nil, invalidValue(err)
	}
	u, err := tree.ParseUpdate(r.path, string(text), tree.Strict)
	if err != nil {
		return nil, nil, invalidValue(err)
	}
	return u, appendMerge(nil, r.path, u), nil
}

// appendMerge appends an update as it is sent.
func appendMerge(dst []byte, base tree.Path, u tree.Update) []byte {
	dst = append(dst, '{')
	for i, w := range u {
		if i > 0 {
			dst = append(dst, ',')
		}
		rel := tree.Target{Path: base.Rel(w.Path), Priority: w.Priority}
		dst = append(appendString(dst, rel.String()[1:]), ':')
		dst = append(dst, draftJSON(w.Value)...)
	}
	return append(dst, '}')
}

func (r Ref) put(ctx context.Context, op string, t tree.Target, value any) error {
	u, q, err := r.putRequest(op, t, value)
	if err != nil {
		return err
	}
	return r.client.write(ctx, u, q)
}

// putRequest returns the request to replace a value or a priority.
func (r Ref) putRequest(op string, t tree.Target, value any) (tree.Update, *request, error) {
	if err := r.check(); err != nil {
		return nil, nil, r.failed(op, err)
	}
	w, err := encode(t, value)
	if err != nil {
		return nil, nil, r.failed(op, err)
	}
	body := draftJSON(w.Value)
	return tree.Update{w}, &request{
		op: op, path: r.path.String(), repeats: true,
		encode: func(dst []byte, id int64) []byte { return wire.AppendPut(dst, id, t.String(), body) },
	}, nil
}

// SetIf replaces the value if it is still the old one: a Snapshot, or what Set
// takes. If it is not, the error is ErrStale and nothing is changed.
func (r Ref) SetIf(ctx context.Context, old, value any) error {
	if err := r.check(); err != nil {
		return r.failed("set", err)
	}
	was, err := encode(tree.Target{Path: r.path}, old)
	if err != nil {
		return r.failed("set", err)
	}
	n, ok := was.Value.Node()
	if !ok {
		return r.failed("set", ErrValue)
	}
	w, err := encode(tree.Target{Path: r.path}, value)
	if err != nil {
		return r.failed("set", err)
	}
	return r.client.write(ctx, tree.Update{w}, putIf("set", r.path, w.Value, n.Hash()))
}

// Create sets the value if there is none. If there is one, the error is
// ErrStale.
func (r Ref) Create(ctx context.Context, value any) error { return r.SetIf(ctx, nil, value) }

// putIf is the request to replace what has a hash. Only to a server that knows it
// again can it be sent twice: the second time the hash differs.
func putIf(op string, p tree.Path, d tree.Draft, hash string) *request {
	return &request{
		op: op, path: p.String(),
		encode: func(dst []byte, id int64) []byte {
			return wire.AppendPutIf(dst, id, p.String(), draftJSON(d), hash)
		},
	}
}

// write sends a write. The client's views show it until it is answered.
func (c *Client) write(ctx context.Context, u tree.Update, r *request) error {
	r.isWrite = true
	var shown *replica.Write
	r.settle = func(_ wire.ServerMessage, err error) {
		if err == nil {
			c.replica.Acknowledged(shown)
		} else {
			c.replica.Denied(shown)
		}
	}
	return c.submit(ctx, r, func(now time.Time) error {
		writes, err := c.guess(u, now)
		if err == nil {
			shown = c.replica.Put(writes)
		}
		return err
	})
}

// guess replaces the server values of an update by what they probably will be.
func (c *Client) guess(u tree.Update, now time.Time) ([]tree.ResolvedWrite, error) {
	writes := make([]tree.ResolvedWrite, len(u))
	for i, w := range u {
		n, err := w.Value.Resolve(now.UnixMilli(), func(rel tree.Path) (tree.Node, error) {
			return c.existing(w.Target, rel), nil
		})
		if err != nil {
			return nil, invalidValue(err)
		}
		writes[i] = tree.ResolvedWrite{Target: w.Target, Node: n}
	}
	return writes, nil
}

// existing returns what an increment at a place below a target is added to, as
// far as it is known.
func (c *Client) existing(t tree.Target, rel tree.Path) tree.Node {
	n, _ := c.replica.Node(t.Path.Join(rel))
	if t.Priority {
		return n.Priority()
	}
	return n
}
