package dogwood_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

func ExampleQuery_Where() {
	db := sample()
	defer db.Close()
	check(db.Ref("rooms").Set(ctx, map[string]any{
		"a": map[string]any{"type": "public", "people": 3}, "b": map[string]any{"type": "private", "people": 9},
		"c": map[string]any{"type": "public", "people": 12},
	}))
	public := db.Ref("rooms").Where(`data.child('type').val() == 'public'`)
	printKeys(public)
	printKeys(public.OrderByKey().LimitToLast(1))
	n, err := public.Count(ctx)
	check(err)
	fmt.Println(n)
	// Output:
	// a c
	// c
	// 2
}

func ExampleQuery_MaxVisited() {
	db := sample()
	defer db.Close()
	n, err := db.Ref("scores").Where("data.val() > 15").MaxVisited(100_000).Count(ctx)
	check(err)
	fmt.Println(n)
	// Output: 2
}

// A view with a filter follows what the server decides: children come in whole when they begin
// to match, and leave when they cease to. A view of everything at the same place does not
// serve it, and neither do writes that the server has not carried out.
func TestWhere(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		list := c.Ref("list")
		want(t, list.Set(ctx, map[string]any{"a": map[string]any{"n": 1, "x": "old"}, "b": map[string]any{"n": 7}}))
		all := pull(t, list.Values(ctx))
		all.get()
		big := list.Where("data.child('n').val() > 5")
		values := pull(t, big.Values(ctx))
		last := pull(t, big.OrderByKey().LimitToLast(1).Values(ctx))
		step := func(wantAll, wantLast string) {
			t.Helper()
			if wantAll != "" {
				if got := values.get().JSON(); got != wantAll {
					t.Errorf("the view is %s, want %s", got, wantAll)
				}
			}
			if wantLast != "" {
				if got := last.get().JSON(); got != wantLast {
					t.Errorf("the window is %s, want %s", got, wantLast)
				}
			}
		}
		step(`{"b":{"n":7}}`, `{"b":{"n":7}}`)
		want(t, list.Child("c").Set(ctx, map[string]any{"n": 2})) // does not match
		want(t, list.Child("a/n").Set(ctx, 8))
		step(`{"a":{"n":8,"x":"old"},"b":{"n":7}}`, "")
		want(t, list.Child("c/n").Set(ctx, 9))
		step(`{"a":{"n":8,"x":"old"},"b":{"n":7},"c":{"n":9}}`, `{"c":{"n":9}}`)
		want(t, list.Child("c/n").Set(ctx, 1))
		step(`{"a":{"n":8,"x":"old"},"b":{"n":7}}`, `{"b":{"n":7}}`)
		want(t, list.Child("b").Remove(ctx))
		step(`{"a":{"n":8,"x":"old"}}`, `{"a":{"n":8,"x":"old"}}`)

		none := list.Where("data.child('n').val() > 50")
		if s, err := none.Snapshot(ctx); s.Exists() || err != nil {
			t.Errorf("%s, %v", s, err)
		}
		batch, err := c.GetAll(ctx, big, list.Where("key == 'c'"))
		want(t, err)
		if got := found(batch.Results); got != `/list={"a":{"n":8,"x":"old"}} /list={"c":{"n":1}}` {
			t.Error(got)
		}
		if _, err := big.Where("true").Snapshot(ctx); !errors.Is(err, dogwood.ErrQuery) {
			t.Error(err)
		}
		if _, err := list.Where("data.x").Snapshot(ctx); !errors.Is(err, dogwood.ErrInvalid) || !strings.Contains(err.Error(), "w: 6:") {
			t.Error(err)
		}
		for i := range 200 {
			want(t, list.Child(fmt.Sprint("r", i)).Set(ctx, map[string]any{"n": 1, "text": strings.Repeat("x", 20)}))
		}
		if _, err := none.MaxVisited(100).Snapshot(ctx); !errors.Is(err, dogwood.ErrTooBig) {
			t.Error(err)
		}
	})
}

// A write that the server has not answered is not in a view with a filter, though in others.
func TestWhereShowsNoGuesses(t *testing.T) {
	ctx := t.Context()
	s := newScript(t)
	c := s.begin(dogwood.Options{})
	values := pull(t, c.Ref("list").Where("data.val() > 5").Values(ctx))
	all := pull(t, c.Ref("list").Values(ctx))
	first := make(chan string)
	go func() { first <- values.get().JSON() + all.get().JSON() }()
	server := s.acceptWith("s", `["q"]`)
	id := server.hear("q", `"w":"data.val() > 5"`)
	server.push("d", `{"p":"list","d":{"a":7},"t":1}`)
	server.answer(id, "ok", "{}")
	id = server.hear("q", `"p":"/list"`)
	server.push("d", `{"p":"list","d":{"a":7,"c":1}}`)
	server.answer(id, "ok", "{}")
	if got := <-first; got != `{"a":7}{"a":7,"c":1}` {
		t.Fatal(got)
	}
	done := make(chan error)
	go func() { done <- c.Ref("list").Update(ctx, map[string]any{"a": 1, "b": 9}) }()
	if got := all.get().JSON(); got != `{"a":1,"b":9,"c":1}` {
		t.Error(got)
	}
	put := server.hear("m", "")
	server.push("m", `{"p":"list","d":{"a":null,"b":9},"t":1}`)
	server.push("m", `{"p":"list","d":{"a":1,"b":9}}`)
	server.answer(put, "ok", `""`)
	if got := values.get().JSON(); got != `{"b":9}` {
		t.Error(got)
	}
	want(t, <-done)
}

// A server without filters would send everything.
func TestWhereUnsupported(t *testing.T) {
	s := newScript(t)
	c, err := dogwood.New(t.Context(), s, dogwood.Options{Lazy: true})
	want(t, err)
	defer c.Close()
	q := c.Ref("list").Where("true")
	values := pull(t, q.Values(t.Context()))
	go s.acceptWith("s", `["w","n","x","b","h","l"]`)
	if err := values.fails(); !errors.Is(err, dogwood.ErrUnsupported) {
		t.Error(err)
	}
	for name, f := range map[string]func() error{
		"get":     func() error { return q.Get(t.Context(), new(any)) },
		"count":   func() error { _, err := q.Count(t.Context()); return err },
		"explain": func() error { _, err := q.Explain(t.Context()); return err },
		"page":    func() error { _, err := q.Page(t.Context()); return err },
		"get all": func() error { _, err := c.GetAll(t.Context(), c.Ref("a"), q); return err },
		"changes": func() error { _, err := q.Changes(t.Context()); return err },
		"notices": func() error { _, err := q.Notices(t.Context()); return err },
		"later":   func() error { return pull(t, q.Values(t.Context())).fails() },
	} {
		if err := f(); !errors.Is(err, dogwood.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
