package dogwood_test

import (
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

func TestWrites(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		r := c.Ref("a")
		for _, step := range []struct {
			do   func() error
			want string
		}{
			{func() error { return r.Set(ctx, map[string]any{"x": 1, "y": []int{1, 2}}) }, `{"x":1,"y":{"0":1,"1":2}}`},
			{func() error { return r.Child("x").Set(ctx, "text") }, `{"x":"text","y":{"0":1,"1":2}}`},
			{func() error { return r.Child("y").Remove(ctx) }, `{"x":"text"}`},
			{func() error { return r.Update(ctx, map[string]any{"x": nil, "n/m": 1.5}) }, `{"n":{"m":1.5}}`},
			{func() error { return c.Update(ctx, map[string]any{"a/n/k": true, "b": 1}) }, `{"n":{"k":true,"m":1.5}}`},
			{func() error { return r.Child("n/m").Set(ctx, dogwood.Increment(2)) }, `{"n":{"k":true,"m":3.5}}`},
			{func() error { return r.SetWithPriority(ctx, 7, "p") }, `{".priority":"p",".value":7}`},
			{func() error { return r.SetPriority(ctx, 3) }, `{".priority":3,".value":7}`},
			{func() error { return r.SetPriority(ctx, nil) }, `7`},
			{func() error { return r.SetIf(ctx, 7, 8) }, `8`},
			{func() error { return r.Set(ctx, nil) }, `null`},
			{func() error { return r.Create(ctx, "new") }, `"new"`},
		} {
			want(t, step.do())
			if got := value(t, r); got != step.want {
				t.Errorf("got %s, want %s", got, step.want)
			}
		}
	})
}
