package dogwood_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/server/servertest"
)

func ExampleQuery_Notices() {
	db := sample()
	defer db.Close()
	notices, err := db.Ref("rooms").Notices(ctx)
	check(err)
	page, err := db.Ref("rooms").Page(ctx) // what is shown
	check(err)
	check(db.Ref("rooms/r1/name").Set(ctx, "Hall"))
	for n, err := range notices {
		check(err)
		fmt.Println(n.Children, n.All, n.Revision > page.Revision)
		break // else: read the page again if it has one of them
	}
	// Output:
	// [r1] false true
}

// noted returns the keys of notices until all of some keys are among them.
func noted(p puller[dogwood.Notice], until ...string) (keys []string) {
	p.t.Helper()
	for last := uint64(0); !slices.Equal(keys, until); {
		n := p.get()
		if n.All || n.Revision <= last {
			p.t.Fatalf("%+v after revision %d, want %q", n, last, until)
		}
		last = n.Revision
		for _, key := range n.Children {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func wantAll(p puller[dogwood.Notice]) {
	p.t.Helper()
	if n := p.get(); !n.All || len(n.Children) != 0 || n.Revision == 0 {
		p.t.Errorf("%+v, want a notice of all", n)
	}
}

func TestNotices(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		list := c.Ref("list")
		want(t, list.Set(ctx, map[string]any{"a": 1, "b": map[string]any{"x": 1}}))
		values, changes := pull(t, list.Values(ctx)), begun(t, list.Query.Changes) // other listens at the same place
		values.get()
		all, last, big := begun(t, list.Notices), begun(t, list.OrderByKey().LimitToLast(1).Notices), begun(t, list.Where("data.val() > 5").Notices)
		want(t, list.Child("b/x").Set(ctx, 2))
		want(t, list.Update(ctx, map[string]any{"a": 9, "c": 3}))
		want(t, list.Child("a").SetPriority(ctx, 1))
		want(t, list.Child("d").Set(ctx, 3))
		noted(all, "b", "a", "c", "d")
		noted(last, "b", "c", "d")
		noted(big, "a")
		if got := changed(changes.get()); got != "/list/b/x 2" {
			t.Error(got)
		}
		want(t, list.Set(ctx, 7))
		wantAll(all)
	})
}

// begun begins a loop.
func begun[T any](t *testing.T, f func(context.Context) (iter.Seq2[T, error], error)) puller[T] {
	t.Helper()
	seq, err := f(t.Context())
	want(t, err)
	return pull(t, seq)
}

// A loop over notices ends when the rules no longer allow it, as any.
func TestNoticesEnd(t *testing.T) {
	db, ana := openWith(t, `{"rules":{"open":{".read":"root.child('shut').val() == null"},"denied":{".read":false}}}`)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := ana.Ref("denied").Notices(ctx); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Error(err)
	}
	if _, err := ana.Ref("open").OrderByKey().OrderByValue().Notices(ctx); !errors.Is(err, dogwood.ErrQuery) {
		t.Error(err)
	}
	notices := begun(t, ana.Ref("open").Notices)
	want(t, db.Ref("open/a").Set(ctx, 1))
	noted(notices, "a")
	want(t, db.Ref("shut").Set(ctx, 1))
	if err := notices.fails(); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Error(err)
	}
	want(t, db.Ref("shut").Remove(ctx))
	seq, err := ana.Ref("open").Notices(ctx)
	want(t, err)
	other := begun(t, ana.Ref("open").Notices)
	cancel()
	if err := pull(t, seq).fails(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	want(t, ana.Close())
	if err := other.fails(); !errors.Is(err, dogwood.ErrClosed) {
		t.Error(err)
	}
}

// Where something may have been missed because there was no connection, there is a notice of all.
func TestNoticesAfterOutage(t *testing.T) {
	ctx := t.Context()
	s := servertest.New(t, servertest.Options{})
	p := newProxy(t, s.Host)
	c, other := dial(t, p.url(s.URL), quick), dial(t, s.URL, quick)
	notices := begun(t, c.Ref("list").Notices)
	want(t, other.Ref("list/b").Set(ctx, 2))
	noted(notices, "b")
	c.GoOffline()
	want(t, other.Ref("list/c").Set(ctx, 3))
	c.GoOnline()
	wantAll(notices)
	want(t, other.Ref("list/d").Set(ctx, 4))
	noted(notices, "d")
}

// While a loop is slow, the server is asked to stop. Later the loop hears of all.
func TestNoticesOfSlowLoop(t *testing.T) {
	s := newScript(t)
	c := s.begin(dogwood.Options{MaxQueue: 2})
	notices := make(chan puller[dogwood.Notice], 1)
	go func() { notices <- begun(t, c.Ref("list").Notices) }()
	server := s.acceptWith("s", `["k"]`)
	tell := func(tag, revision, children, all string) {
		server.push("nt", `{"p":"list","d":{"revision":`+revision+`,"children":[`+children+`],"all":`+all+`},"t":`+tag+`}`)
	}
	first := server.request("nt", `"chg":1`)
	server.answer(first.Get("r").Raw, "ok", "{}")
	loop, tag := <-notices, first.Get("b.t").Raw
	for _, key := range []string{`"a"`, `"b"`, `"c"`} {
		tell(tag, "7", key, "false")
	}
	server.hear("n", `"t":`+tag)
	noted(loop, "a")
	loop.get()
	go func() {
		r := server.request("nt", `"p":"/list"`)
		again := r.Get("b.t").Raw
		if r.Get("b.chg").Exists() || again == tag {
			t.Errorf("%s, want what was missed, under another tag", r)
		}
		tell(again, "9", "", "true")
		server.answer(r.Get("r").Raw, "ok", "{}")
		tell(tag, "10", `"d"`, "false")
		tell(again, "11", `"e"`, "false")
	}()
	wantAll(loop)
	noted(loop, "e")
}

// A server without this extension would not answer.
func TestNoticesUnsupported(t *testing.T) {
	s := newScript(t)
	c := s.begin(dogwood.Options{})
	go s.acceptWith("s", `["w","q","a"]`)
	if _, err := c.Ref("list").Notices(t.Context()); !errors.Is(err, dogwood.ErrUnsupported) {
		t.Error(err)
	}
}
