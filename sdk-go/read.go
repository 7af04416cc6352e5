package dogwood

import (
	"context"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// Get reads the value once and stores it in what dst points to, as
// Snapshot.Decode does.
func (q Query) Get(ctx context.Context, dst any) error {
	s, err := q.Snapshot(ctx)
	if err != nil {
		return err
	}
	return s.Decode(dst)
}

// Snapshot reads the value once. If the client listens to it anyway, that is
// without asking the server. A query that is not by key or priority needs an
// index in the rules.
func (q Query) Snapshot(ctx context.Context) (Snapshot, error) {
	if err := q.check(); err != nil {
		return Snapshot{ref: q.Ref()}, q.failed("get", err)
	}
	if n, ok := q.known(); ok {
		return q.snapshot(n), nil
	}
	var n tree.Node
	r := &request{
		op: "get", path: q.path.String(), repeats: true, harmless: true, feature: q.features(""),
		encode: func(dst []byte, id int64) []byte {
			return wire.AppendGet(dst, id, q.path.String(), encodeQuery(q.query))
		},
	}
	var bad error
	r.settle = func(m wire.ServerMessage, err error) {
		if err == nil {
			n, bad = readNode(m.Data)
		}
	}
	err := q.client.submit(ctx, r, nil)
	if err == nil {
		err = failed(r.op, r.path, bad)
	}
	return q.snapshot(n), err
}

// known returns the value if a listener keeps it up to date.
func (q Query) known() (tree.Node, bool) {
	q.client.mu.Lock()
	defer q.client.mu.Unlock()
	if q.client.link == nil {
		return tree.Empty, false
	}
	return q.client.replica.Current(q.path, q.query)
}
