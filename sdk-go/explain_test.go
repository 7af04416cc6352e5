package dogwood_test

import (
	"errors"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

func TestExplain(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		want(t, c.Ref("list").Set(ctx, map[string]int{"a": 1, "b": 2, "c": 3}))
		x, err := c.Ref("list").OrderByKey().LimitToLast(2).Explain(ctx)
		want(t, err)
		if x.Path != "/list" || x.Plan != "packed" || x.Index != "" || x.Visited != 3 || x.Results != 2 || x.Rows == 0 || x.Bytes != len(`{"b":2,"c":3}`) || !x.Rules.Allowed || x.Revision == 0 {
			t.Errorf("%+v", x)
		}
		w, err := c.Ref("list").ExplainUpdate(ctx, map[string]any{"a": nil, "d": dogwood.Increment(1)})
		want(t, err)
		if !w.Changes || w.Bytes == 0 || w.Listeners != 0 || w.Path != "/list" || !w.Rules.Allowed {
			t.Errorf("%+v", w)
		}
		if w, err = c.Ref("list/a").ExplainSet(ctx, 1); err != nil || w.Changes {
			t.Errorf("%+v, %v", w, err)
		}
		s, err := c.Ref("list").Snapshot(ctx)
		want(t, err)
		if s.JSON() != `{"a":1,"b":2,"c":3}` {
			t.Errorf("explaining left %s", s.JSON())
		}
		if _, err := c.Ref("a.b").ExplainSet(ctx, 1); !errors.Is(err, dogwood.ErrPath) {
			t.Error(err)
		}
		if _, err := c.Ref("a").ExplainSet(ctx, func() {}); !errors.Is(err, dogwood.ErrValue) {
			t.Error(err)
		}
		if _, err := c.Ref("a").LimitToFirst(0).Explain(ctx); !errors.Is(err, dogwood.ErrQuery) {
			t.Error(err)
		}
	})
}
