package dogwood_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// found returns what was found as text.
func found(results []dogwood.Result) string {
	var all []string
	for _, r := range results {
		switch {
		case r.Err != nil:
			all = append(all, r.Err.Error())
		case r.Each != nil:
			all = append(all, "("+found(r.Each)+")")
		default:
			all = append(all, fmt.Sprintf("%s=%s", r.Snapshot.Ref(), r.Snapshot.JSON()))
		}
	}
	return strings.Join(all, " ")
}

func TestGetAll(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		want(t, c.Ref("").Set(ctx, raw(`{
			"groups":{"alpha":{"name":"A"},"bravo":{"name":"B"},"9":{"name":"N"}},
			"mine":{"alpha":{".value":0,".priority":3},"bravo":{".value":0,".priority":1},"9":{".value":0,".priority":2},"gone":0}
		}`)))
		mine := c.Ref("mine")
		for _, l := range []struct {
			lookup dogwood.Lookup
			want   string
		}{
			{c.Ref("groups/alpha"), `/groups/alpha={"name":"A"}`},
			{c.Ref("none"), `/none=null`},
			{mine.LimitToLast(1), `/mine={"alpha":{".priority":3,".value":0}}`},
			{mine.EachKey("groups/$key/name"), `(/groups/9/name="N" /groups/alpha/name="A" /groups/bravo/name="B" /groups/gone/name=null)`},
			{mine.OrderByPriority().EachKey("groups/$key/name"), `(/groups/gone/name=null /groups/bravo/name="B" /groups/9/name="N" /groups/alpha/name="A")`},
			{mine.OrderByPriority().StartAt(1).LimitToFirst(2).EachKey("/groups/$key"), `(/groups/bravo={"name":"B"} /groups/9={"name":"N"})`},
			{c.Ref("none").EachKey("$key"), `()`},
		} {
			b, err := c.GetAll(ctx, l.lookup)
			if got := found(b.Results); err != nil || got != l.want {
				t.Errorf("%s, %v, want %s", got, err, l.want)
			}
		}
		first, err := c.GetAll(ctx)
		want(t, err)
		want(t, c.Ref("x").Set(ctx, 1))
		b, err := c.GetAll(ctx, c.Ref("x"), mine.EachKey("x"), c.Ref("x"))
		if !errors.Is(err, dogwood.ErrQuery) {
			t.Errorf("a template without a key: %v", err)
		}
		b, err = c.GetAll(ctx, c.Ref("x"), c.Ref("x"))
		if got := found(b.Results); err != nil || got != "/x=1 /x=1" || b.Revision <= first.Revision {
			t.Errorf("%s, %v, at %d after %d", got, err, b.Revision, first.Revision)
		}
		for _, bad := range []dogwood.Lookup{c.Ref("a.b"), c.Ref("a").LimitToFirst(0), c.Ref("a").LimitToFirst(0).EachKey("$key"), mine.EachKey("$key/a.b")} {
			if _, err := c.GetAll(ctx, bad); !errors.Is(err, dogwood.ErrQuery) && !errors.Is(err, dogwood.ErrPath) {
				t.Errorf("%v: %v", bad, err)
			}
		}
		many := make([]dogwood.Lookup, 1001)
		for i := range many {
			many[i] = c.Ref("x")
		}
		if _, err := c.GetAll(ctx, many...); !errors.Is(err, dogwood.ErrTooBig) {
			t.Errorf("%d lookups: %v", len(many), err)
		}
	})
}

func TestGetAllDenied(t *testing.T) {
	db := open(t)
	ctx := t.Context()
	want(t, db.SetRules(ctx, `{"rules":{"mine":{".read":true},"groups":{"$g":{".read":"$g !== 'b'"}}}}`))
	want(t, db.Ref("").Set(ctx, raw(`{"mine":{"a":1,"b":1},"groups":{"a":"A","b":"B"}}`)))
	c, err := db.As(nil)
	want(t, err)
	b, err := c.GetAll(ctx, c.Ref(""), c.Ref("mine/a"), c.Ref("mine").EachKey("groups/$key"), c.Ref("groups").EachKey("mine/$key"))
	want(t, err)
	const denied = "permission denied"
	if got := found(b.Results); got != "get /: "+denied+" /mine/a=1 (/groups/a=\"A\" get /groups/b: "+denied+") get /groups: "+denied {
		t.Error(got)
	}
	if err := b.Results[2].Each[1].Err; !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Error(err)
	}
}

// The client does not use an extension that the server has not announced on the same
// connection.
func TestUnsupported(t *testing.T) {
	s := newScript(t)
	c, err := dogwood.New(t.Context(), s, dogwood.Options{Lazy: true})
	want(t, err)
	defer c.Close()
	early := make(chan error, 1)
	go func() { // perhaps before there is a connection
		_, err := c.GetAll(t.Context(), c.Ref("a"))
		early <- err
	}()
	s.acceptWith("s", `["w"]`)
	if err := <-early; !errors.Is(err, dogwood.ErrUnsupported) {
		t.Errorf("err = %v", err)
	}
	if _, err := c.GetAll(t.Context(), c.Ref("a")); !errors.Is(err, dogwood.ErrUnsupported) {
		t.Errorf("err = %v", err)
	}
	if err := c.Ref("a").OnDisconnect().If("", 1).Set(t.Context(), 2); !errors.Is(err, dogwood.ErrUnsupported) {
		t.Errorf("err = %v", err)
	}
	if _, err := c.Ref("a").Increment(t.Context(), 1); !errors.Is(err, dogwood.ErrUnsupported) {
		t.Errorf("err = %v", err)
	}
}
