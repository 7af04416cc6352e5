package dogwood

import (
	"context"
	"encoding/json"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// SetReturning is Set for a value with ServerTimestamp or Increment in it. It
// returns the resolved value of each, by its path below the Ref: "" for the Ref
// itself, "stats/visits", ".priority". The result of an increment reveals the old
// value, so it is left out if the rules do not let the client read it. The error is
// ErrNotReturned if the value was set but the results were lost, and ErrUnsupported if
// the server does not return results.
func (r Ref) SetReturning(ctx context.Context, value any) (map[string]float64, error) {
	u, q, err := r.putRequest("set", tree.Target{Path: r.path}, value)
	if err != nil {
		return nil, err
	}
	return r.client.writeReturning(ctx, u, q)
}

// UpdateReturning is Update with what SetReturning returns. At most 1,000 server
// values of one update are returned; with more of them it fails.
func (r Ref) UpdateReturning(ctx context.Context, values map[string]any) (map[string]float64, error) {
	u, q, err := r.mergeRequest(values)
	if err != nil {
		return nil, err
	}
	if len(u) == 0 {
		return map[string]float64{}, nil
	}
	return r.client.writeReturning(ctx, u, q)
}

// Increment adds to the number at the path, as Set with Increment does, and returns the
// sum. If all increments are positive and nothing else writes the number, no two of them
// return the same sum. The error is ErrNotReturned if the number was added but the sum is
// not known.
func (r Ref) Increment(ctx context.Context, delta float64) (float64, error) {
	values, err := r.SetReturning(ctx, Increment(delta))
	if err != nil {
		return 0, err
	}
	sum, ok := values[""]
	if !ok {
		return 0, r.failed("set", ErrNotReturned)
	}
	return sum, nil
}

// writeReturning is write for a request that returns its server values.
func (c *Client) writeReturning(ctx context.Context, u tree.Update, r *request) (map[string]float64, error) {
	var data []byte
	plain := r.encode
	r.feature = wire.FeatureReturns
	r.encode = func(dst []byte, id int64) []byte { return wire.AppendReturns(plain(dst, id)) }
	r.answered = func(m wire.ServerMessage) { data = append(data, m.Data...) }
	if err := c.write(ctx, u, r); err != nil {
		return nil, err
	}
	var answer struct {
		Values map[string]float64 `json:"v"`
	}
	if json.Unmarshal(data, &answer) != nil || answer.Values == nil { // it was sent again, and had been carried out before
		return nil, failed(r.op, r.path, ErrNotReturned)
	}
	return answer.Values, nil
}
