package connect

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestParallel(t *testing.T) {
	var sum, now atomic.Int64
	var tooMany atomic.Bool
	err := Parallel(t.Context(), 100, 4, func(_ context.Context, i int) error {
		if now.Add(1) > 4 {
			tooMany.Store(true)
		}
		sum.Add(int64(i))
		now.Add(-1)
		return nil
	})
	if err != nil || sum.Load() != 4950 || tooMany.Load() {
		t.Errorf("parallel: %v, sum %d, more than 4 at a time: %t; want 4950", err, sum.Load(), tooMany.Load())
	}
	failure := errors.New("no")
	var after atomic.Int64
	err = Parallel(t.Context(), 100, 1, func(ctx context.Context, i int) error {
		if i == 3 {
			return failure
		}
		if i > 3 {
			after.Add(1)
		}
		return nil
	})
	if err != failure || after.Load() != 0 {
		t.Errorf("parallel: %v and %d calls after it, want the failure and none", err, after.Load())
	}
}
