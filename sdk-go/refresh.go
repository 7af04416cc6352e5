package dogwood

import (
	"context"
	"encoding/json"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// Refresh reads the value once, as Snapshot does, if it differs from that
// of an earlier snapshot of the same query. If it is the same, the server sends only
// that, and Refresh returns the earlier snapshot and false. From a server that has
// no conditional reads it gets the value and compares it here.
func (q Query) Refresh(ctx context.Context, have Snapshot) (now Snapshot, changed bool, err error) {
	if err := q.check(); err != nil {
		return have, false, q.failed("get", err)
	}
	if have.ref.client != q.client || have.ref.path != q.path || have.query.ID() != q.query.ID() {
		return have, false, q.failed("get", q.fail("the snapshot is of another one").err)
	}
	n, ok := q.known()
	if !ok {
		if n, err = q.getIf(ctx, have.node); err != nil {
			return have, false, err
		}
	}
	if n == have.node {
		return have, false, nil
	}
	return q.snapshot(n), true, nil
}

// getIf returns what the server has. If it is the given node, that need not be sent.
func (q Query) getIf(ctx context.Context, have tree.Node) (tree.Node, error) {
	var data []byte
	var asked bool // on the last connection
	r := &request{op: "get", path: q.path.String(), repeats: true, harmless: true, feature: q.features("")}
	r.encode = func(dst []byte, id int64) []byte {
		if asked = q.client.link.has(wire.FeatureGetIf); asked {
			return wire.AppendGetIf(dst, id, r.path, encodeQuery(q.query), have.Hash())
		}
		return wire.AppendGet(dst, id, r.path, encodeQuery(q.query))
	}
	r.answered = func(m wire.ServerMessage) { data = append(data, m.Data...) }
	if err := q.client.submit(ctx, r, nil); err != nil {
		return tree.Empty, err
	}
	if asked {
		var answer struct {
			Same  bool            `json:"same"`
			Value json.RawMessage `json:"v"`
		}
		if err := json.Unmarshal(data, &answer); err != nil || !answer.Same && answer.Value == nil {
			return tree.Empty, failed(r.op, r.path, errAnswer)
		}
		if answer.Same {
			return have, nil
		}
		data = answer.Value
	}
	n, err := readNode(data)
	return n, failed(r.op, r.path, err)
}
