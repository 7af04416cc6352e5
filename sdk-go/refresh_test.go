package dogwood_test

import (
	"errors"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

func TestRefresh(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		want(t, c.Ref("").Set(ctx, raw(`{"list":{"a":{".value":1,".priority":1},"b":2},"same":{"same":true},"v":{"v":1}}`)))
		for _, q := range []dogwood.Query{
			c.Ref("list").Query, c.Ref("list").LimitToLast(1), c.Ref("same").Query, c.Ref("v").Query, c.Ref("none").Query, c.Ref("").Query,
		} {
			first, err := q.Snapshot(ctx)
			want(t, err)
			again, changed, err := q.Refresh(ctx, first)
			if err != nil || changed || again.JSON() != first.JSON() {
				t.Errorf("%s: %s, %v, %v", q, again.JSON(), changed, err)
			}
			want(t, q.Ref().Child("list/a").Set(ctx, 1))
			want(t, q.Ref().Child("a").SetWithPriority(ctx, 7, 9))
			now, err := q.Snapshot(ctx)
			want(t, err)
			again, changed, err = q.Refresh(ctx, first)
			if err != nil || !changed || again.JSON() != now.JSON() || again.JSON() == first.JSON() {
				t.Errorf("%s: %s, %v, %v, want %s", q, again.JSON(), changed, err, now.JSON())
			}
			want(t, q.Ref().Remove(ctx))
			if again, changed, err = q.Refresh(ctx, now); err != nil || !changed || again.Exists() {
				t.Errorf("%s: %s, %v, %v", q, again.JSON(), changed, err)
			}
		}
		s, err := c.Ref("list").Snapshot(ctx)
		want(t, err)
		for _, q := range []dogwood.Query{c.Ref("list").LimitToLast(1), c.Ref("other").Query, c.Ref("list").LimitToFirst(0)} {
			if _, _, err := q.Refresh(ctx, s); !errors.Is(err, dogwood.ErrQuery) {
				t.Errorf("%s: %v", q, err)
			}
		}
	})
}

func TestRefreshDenied(t *testing.T) {
	ctx := t.Context()
	db, ana := openWith(t, `{"rules":{".read":true}}`)
	s, err := ana.Ref("a").Snapshot(ctx)
	want(t, err)
	want(t, db.SetRules(ctx, `{"rules":{}}`))
	if _, _, err := ana.Ref("a").Refresh(ctx, s); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Errorf("err = %v", err)
	}
}

// The value is not sent again, nor asked for in a way that the server does not know.
func TestRefreshAsks(t *testing.T) {
	s := newScript(t)
	c, err := dogwood.New(t.Context(), s, dogwood.Options{Lazy: true})
	want(t, err)
	defer c.Close()
	conn := s.acceptWith("s", `["h"]`)
	done := make(chan error, 1)
	have := dogwood.Snapshot{}
	go func() {
		got, err := c.Ref("a").Snapshot(t.Context())
		have = got
		done <- err
	}()
	conn.answer(conn.hear("g", `"p":"/a"`), "ok", `1`)
	want(t, <-done)
	refresh := func() {
		now, changed, err := c.Ref("a").Refresh(t.Context(), have)
		if err == nil && (changed || now.JSON() != "1") {
			err = errors.New(now.JSON())
		}
		done <- err
	}
	go refresh()
	conn.answer(conn.hear("g", `"h":"YPVfR2bXt/lcDjiQZ8pOkAd3qkQ="`), "ok", `{"same":true}`)
	want(t, <-done)
	go refresh()
	conn.answer(conn.hear("g", `"h":`), "ok", `{}`)
	if err := <-done; !errors.Is(err, dogwood.ErrUnavailable) {
		t.Errorf("err = %v", err)
	}
	conn.Close()
	conn = s.acceptWith("s2", `[]`)
	go refresh()
	r := conn.request("g", `"p":"/a"`)
	if r.Get("b.h").Exists() {
		t.Errorf("asked %s", r)
	}
	conn.answer(r.Get("r").Raw, "ok", `1`)
	want(t, <-done)
}
