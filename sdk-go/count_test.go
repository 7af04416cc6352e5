package dogwood_test

import (
	"errors"
	"fmt"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

func ExampleQuery_Count() {
	db := sample()
	defer db.Close()
	all, err := db.Ref("scores").Count(ctx)
	check(err)
	good, err := db.Ref("scores").OrderByValue().StartAt(20).Count(ctx)
	check(err)
	fmt.Println(good, "of", all)
	// Output: 2 of 3
}

func TestCount(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		want(t, c.Ref("list").Set(ctx, map[string]int{"a": 1, "b": 2, "c": 3}))
		for _, test := range []struct {
			query dogwood.Query
			want  int
		}{
			{c.Ref("list").Query, 3},
			{c.Ref("list").OrderByKey().StartAt("b"), 2},
			{c.Ref("list/a").Query, 0},
			{c.Ref("none").Query, 0},
		} {
			if n, err := test.query.Count(ctx); n != test.want || err != nil {
				t.Errorf("%s: %d, %v, want %d", test.query, n, err, test.want)
			}
		}
		for _, q := range []dogwood.Query{c.Ref("list").LimitToFirst(1), c.Ref("list").StartAt(1).StartAt(2)} {
			if _, err := q.Count(ctx); !errors.Is(err, dogwood.ErrQuery) {
				t.Errorf("%s: %v", q, err)
			}
		}
	})
}
