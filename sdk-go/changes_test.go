package dogwood_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/server/servertest"
)

func ExampleQuery_Changes() {
	db := sample()
	defer db.Close()
	changes, err := db.Ref("rooms").Changes(ctx)
	check(err)
	check(db.Ref("rooms/r1/name").Set(ctx, "Hall"))
	check(db.Ref("rooms/r2").Remove(ctx))
	n := 0
	for c, err := range changes {
		check(err)
		fmt.Println(c.Value.Ref().Path(), c.Value.JSON())
		if n++; n == 2 {
			break
		}
	}
	// Output:
	// /rooms/r1/name "Hall"
	// /rooms/r2 null
}

// changed returns a change in words.
func changed(c dogwood.Change) string {
	s := c.Value.Ref().Path() + " " + c.Value.JSON()
	if c.Priority {
		s += " priority"
	}
	return s
}

func TestChanges(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		list := c.Ref("list")
		want(t, list.Set(ctx, map[string]any{"a": 1, "b": map[string]any{"x": 1}}))
		values := pull(t, list.Values(ctx)) // a listen at the same place is another matter
		values.get()
		follow := func(q dogwood.Query) puller[dogwood.Change] {
			seq, err := q.Changes(ctx)
			want(t, err)
			return pull(t, seq)
		}
		all, last, big := follow(list.Query), follow(list.OrderByKey().LimitToLast(2)), follow(list.Where("data.val() > 5"))
		want(t, list.Child("b/x").Set(ctx, 2))
		want(t, list.Child("c").Set(ctx, 7))
		want(t, list.Update(ctx, map[string]any{"a": 9, "d": 3}))
		want(t, list.Child("a").Remove(ctx))
		for _, test := range []struct {
			changes puller[dogwood.Change]
			want    []string
		}{
			{all, []string{"/list/b/x 2", "/list/c 7", "/list/a 9", "/list/d 3", "/list/a null"}},
			{last, []string{"/list/b/x 2", "/list/a null", "/list/c 7", "/list/b null", "/list/d 3"}},
			{big, []string{"/list/c 7", "/list/a 9", "/list/a null"}},
		} {
			for _, want := range test.want {
				if got := changed(test.changes.get()); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		}
	})
}

// A second loop over the same changes ends at once: nothing is followed any more.
func TestChangesOnce(t *testing.T) {
	c := open(t).Client
	seq, err := c.Ref("a").Changes(t.Context())
	want(t, err)
	want(t, c.Ref("a").Set(t.Context(), 1))
	for range 2 {
		for _, err := range seq {
			if err != nil && !strings.Contains(err.Error(), "follow them again") {
				t.Error(err)
			}
			break
		}
	}
}

func TestChangesOfPriority(t *testing.T) {
	c := open(t).Client
	want(t, c.Ref("list/a").Set(t.Context(), 1))
	seq, err := c.Ref("list").Changes(t.Context())
	want(t, err)
	want(t, c.Ref("list/a").SetPriority(t.Context(), 5))
	if got := changed(pull(t, seq).get()); got != "/list/a 5 priority" {
		t.Error(got)
	}
}

func TestChangesEnd(t *testing.T) {
	db, ana := openWith(t, `{"rules":{"open":{".read":"root.child('shut').val() == null"},"denied":{".read":false}}}`)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := ana.Ref("denied").Changes(ctx); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Error(err)
	}
	seq, err := ana.Ref("open").Changes(ctx)
	want(t, err)
	want(t, db.Ref("open").Set(ctx, 1))
	changes := pull(t, seq)
	if got := changed(changes.get()); got != "/open 1" {
		t.Error(got)
	}
	want(t, db.Ref("shut").Set(ctx, 1)) // which drops what the client has not been sent yet
	if err := changes.fails(); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Error(err)
	}
	want(t, db.Ref("shut").Remove(ctx))
	seq, err = ana.Ref("open").Changes(ctx)
	want(t, err)
	other, err := ana.Ref("open").Changes(t.Context())
	want(t, err)
	cancel()
	if err := pull(t, seq).fails(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	want(t, ana.Close())
	if err := pull(t, other).fails(); !errors.Is(err, dogwood.ErrClosed) {
		t.Error(err)
	}
	if _, err := ana.Ref("open").Changes(t.Context()); !errors.Is(err, dogwood.ErrClosed) {
		t.Error(err)
	}
}

// Changes that may have been missed while there was no connection come as the whole view.
func TestChangesAfterOutage(t *testing.T) {
	ctx := t.Context()
	s := servertest.New(t, servertest.Options{})
	p := newProxy(t, s.Host)
	c, other := dial(t, p.url(s.URL), quick), dial(t, s.URL, quick)
	want(t, other.Ref("list").Set(ctx, map[string]int{"a": 1}))
	seq, err := c.Ref("list").Changes(ctx)
	want(t, err)
	changes := pull(t, seq)
	want(t, other.Ref("list/b").Set(ctx, 2))
	if got := changed(changes.get()); got != "/list/b 2" {
		t.Error(got)
	}
	c.GoOffline()
	want(t, other.Ref("list/c").Set(ctx, 3))
	c.GoOnline()
	if got := changed(changes.get()); got != `/list {"a":1,"b":2,"c":3}` {
		t.Error(got)
	}
	want(t, other.Ref("list/d").Set(ctx, 4))
	if got := changed(changes.get()); got != "/list/d 4" {
		t.Error(got)
	}
}

// A loop that is slow is sent the whole view when it has taken what waits for it.
func TestChangesOfSlowLoop(t *testing.T) {
	ctx := t.Context()
	s := servertest.New(t, servertest.Options{})
	o := quick
	o.MaxQueue = 3
	c := dial(t, s.URL, o)
	seq, err := c.Ref("list").Changes(ctx)
	want(t, err)
	for i := range 10 {
		want(t, c.Ref("list").Child(fmt.Sprint(i)).Set(ctx, i))
	}
	changes := pull(t, seq)
	var got []string
	for range 4 {
		got = append(got, changed(changes.get()))
	}
	all := strings.Join(got, ", ")
	if all != `/list/0 0, /list/1 1, /list/2 2, /list {"0":0,"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8,"9":9}` {
		t.Error(all)
	}
	want(t, c.Ref("list/x").Set(ctx, 1))
	if got := changed(changes.get()); got != "/list/x 1" {
		t.Error(got)
	}
}

// A server without this extension would send the view.
func TestChangesUnsupported(t *testing.T) {
	s := newScript(t)
	c := s.begin(dogwood.Options{})
	go s.acceptWith("s", `["w","q"]`)
	if _, err := c.Ref("list").Changes(t.Context()); !errors.Is(err, dogwood.ErrUnsupported) {
		t.Error(err)
	}
}
