package dogwood

import (
	"context"
	"encoding/json"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// Count returns how many children there are, or how many the query selects, which
// must have no limit. The children are not transferred. The
// server refuses Count for the same reasons as Get, such as a missing index. The server must know the extension; the
// error is ErrUnsupported if it does not.
func (q Query) Count(ctx context.Context) (int, error) {
	if q.query.Limit != 0 {
		q = q.fail("a count has no limit")
	}
	if err := q.check(); err != nil {
		return 0, q.failed("count", err)
	}
	r := &request{
		op: "count", path: q.path.String(), repeats: true, harmless: true, feature: wire.FeatureCount,
		encode: func(dst []byte, id int64) []byte {
			return wire.AppendCount(dst, id, q.path.String(), encodeQuery(q.query))
		},
	}
	var answer struct{ N *int }
	var bad error
	r.settle = func(m wire.ServerMessage, err error) {
		if err == nil && (json.Unmarshal(m.Data, &answer) != nil || answer.N == nil) {
			bad = errAnswer
		}
	}
	err := q.client.submit(ctx, r, nil)
	if err == nil {
		err = failed(r.op, r.path, bad)
	}
	if err != nil {
		return 0, err
	}
	return *answer.N, nil
}
