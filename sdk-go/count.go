package dogwood

import (
	"context"

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
	var answer struct{ N *int }
	err := q.ask(ctx, "count", wire.FeatureCount, &answer, func(dst []byte, id int64) []byte {
		return wire.AppendCount(dst, id, q.path.String(), encodeQuery(q.query))
	})
	if err == nil && answer.N == nil {
		err = failed("count", q.path.String(), errAnswer)
	}
	if err != nil {
		return 0, err
	}
	return *answer.N, nil
}
