package dogwood_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

func ExampleQuery_Page() {
	db := sample()
	defer db.Close()
	p, err := db.Ref("rooms").Page(ctx)
	check(err)
	for _, c := range p.Children {
		fmt.Println(c.Key, "has", c.NumChildren, "children")
	}
	// Output:
	// r1 has 1 children
	// r2 has 2 children
}

func ExampleQuery_Pages() {
	db := sample()
	defer db.Close()
	for p, err := range db.Ref("scores").LimitToFirst(2).Pages(ctx) {
		check(err)
		fmt.Println(len(p.Children), "of", p.Count)
	}
	// Output:
	// 2 of 3
	// 1 of 3
}

func ExampleQuery_Descending() {
	db := sample()
	defer db.Close()
	p, err := db.Ref("scores").OrderByValue().LimitToLast(2).Descending().Page(ctx)
	check(err)
	for _, c := range p.Children {
		fmt.Println(c.Key, c.Value)
	}
	fmt.Println(p.Count, "in all")
	// Output:
	// ana 30
	// cy 20
	// 3 in all
}

func TestPage(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		list := c.Ref("list")
		want(t, list.Set(ctx, map[string]any{
			"a": map[string]any{"x": 1, "y": 2}, "b": strings.Repeat("é", 130), "c": true, "d": map[string]any{".value": 7, ".priority": 2},
		}))
		p, err := list.Page(ctx)
		want(t, err)
		p.Revision = 0
		wanted := fmt.Sprint(dogwood.Page{Count: 4, Children: []dogwood.ChildInfo{
			{Key: "a", Object: true, NumChildren: 2}, {Key: "b", Value: strings.Repeat("é", 120), Bytes: 260},
			{Key: "c", Value: true}, {Key: "d", Value: 7.0, Priority: 2.0},
		}})
		if got := fmt.Sprint(p); got != wanted {
			t.Errorf("%s, want %s", got, wanted)
		}
		if p, err = list.LimitToFirst(3).Page(ctx); err != nil || len(p.Children) != 3 || !p.More {
			t.Errorf("%v, %v", p, err)
		}
		if p, err = c.Ref("none").Page(ctx); err != nil || len(p.Children) != 0 || p.Count != 0 {
			t.Errorf("%v, %v", p, err)
		}
		for name, q := range map[string]dogwood.Query{"limit": list.LimitToFirst(1001), "order": list.OrderByKey().OrderByValue()} {
			if _, err := q.Page(ctx); !errors.Is(err, dogwood.ErrQuery) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := list.OrderByKey().Descending().Snapshot(ctx); !errors.Is(err, dogwood.ErrQuery) {
			t.Errorf("%v", err)
		}
	})
}

func TestPages(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		values, keys := map[string]any{}, []string{}
		for i := range 50 {
			keys = append(keys, fmt.Sprintf("k%02d", i))
			values[keys[i]] = i
		}
		want(t, c.Ref("list").Set(ctx, values))
		for _, test := range []struct {
			query dogwood.Query
			first int // key
			last  int
			pages int
		}{
			{c.Ref("list").Query, 0, 49, 1},
			{c.Ref("list").LimitToFirst(25), 0, 49, 2},
			{c.Ref("list").OrderByKey().StartAt("k10").LimitToFirst(7), 10, 49, 6},
			{c.Ref("list").LimitToFirst(10).Descending(), 49, 0, 5},
			{c.Ref("list").OrderByKey().StartAfter("k40").LimitToFirst(4).Descending(), 49, 41, 3},
			{c.Ref("list").Where("data.val() % 2 == 0").LimitToFirst(10), 0, 48, 3},
		} {
			var got []string
			pages := 0
			for p, err := range test.query.Pages(ctx) {
				want(t, err)
				pages++
				for _, child := range p.Children {
					got = append(got, child.Key)
				}
			}
			if pages != test.pages || got[0] != keys[test.first] || got[len(got)-1] != keys[test.last] {
				t.Errorf("%s: %d pages, %s", test.query, pages, got)
			}
		}
		for p, err := range c.Ref("list").OrderByValue().Pages(ctx) {
			if !errors.Is(err, dogwood.ErrQuery) {
				t.Errorf("%v, %v", p, err)
			}
		}
	})
}

// A client that may read the place only through a query is told neither count nor more.
func TestPageWithoutCount(t *testing.T) {
	_, ana := openWith(t, `{"rules":{"list":{".read":"query.limitToFirst <= 2",".write":true}}}`)
	want(t, ana.Ref("list").Set(t.Context(), map[string]int{"a": 1, "b": 2, "c": 3}))
	p, err := ana.Ref("list").LimitToFirst(2).Page(t.Context())
	if err != nil || p.Count != -1 || p.More {
		t.Errorf("%v, %v", p, err)
	}
	n := 0
	for p, err := range ana.Ref("list").LimitToFirst(2).Pages(t.Context()) {
		want(t, err)
		n += len(p.Children)
	}
	if n != 3 {
		t.Errorf("%d children", n)
	}
	if _, err := ana.Ref("list").LimitToFirst(3).Page(t.Context()); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Error(err)
	}
}
