package dogwood_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/dogwooddb/dogwood/internal/tier"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/server"
	"github.com/dogwooddb/dogwood/server/servertest"
	"github.com/dogwooddb/dogwood/tree"
)

func TestStreams(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		list := make(map[string]any)
		for i := range 1000 {
			list[fmt.Sprintf("k%03d", i)] = map[string]any{"text": strings.Repeat("x", i)}
		}
		list["k500"] = dogwood.WithPriority("leaf", 5)
		list["7"] = []int{1, 2}
		want(t, c.Ref("list").Set(ctx, list))
		whole := value(t, c.Ref("list"))

		var b bytes.Buffer
		if n, err := c.Ref("list").GetTo(ctx, &b); err != nil || n != int64(b.Len()) || tree.MustParseNode(b.String()).JSON() != whole {
			t.Errorf("GetTo: %d bytes, %v", n, err)
		}
		var children tree.Builder
		for s, err := range c.Ref("list").Children(ctx) {
			want(t, err)
			children.Child(s.Key(), tree.MustParseNode(s.JSON()))
		}
		if children.Node().JSON() != whole {
			t.Error("the children are not those of the whole")
		}
		n := 0
		for key, err := range c.Ref("list").Keys(ctx) {
			if want(t, err); list[key] == nil {
				t.Errorf("key %q", key)
			}
			n++
		}
		if n != len(list) {
			t.Errorf("%d keys, want %d", n, len(list))
		}
		for range c.Ref("list").Children(ctx) {
			break
		}
		for range c.Ref("list").Keys(ctx) {
			break
		}
		for range c.Ref("list/k500").Children(ctx) {
			t.Error("a leaf has a child")
		}
		b.Reset()
		if _, err := c.Ref("nothing").GetTo(ctx, &b); err != nil || strings.TrimSpace(b.String()) != "null" {
			t.Errorf("GetTo: %q, %v", b.String(), err)
		}
	})
}

func TestStreamsFail(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		want(t, c.Ref("a").Set(ctx, 1))
		if _, err := c.Ref("a.b").GetTo(ctx, new(bytes.Buffer)); err == nil || err.Error() != "get: invalid path \"a.b\": keys have no . $ # [ ] / and no control characters" {
			t.Errorf("err = %v", err)
		}
		if err := pull(t, c.Ref("a.b").Keys(ctx)).fails(); err == nil || err.Error() != "keys: invalid path \"a.b\": keys have no . $ # [ ] / and no control characters" {
			t.Errorf("err = %v", err)
		}
		cancel()
		_, err := c.Ref("a").GetTo(ctx, new(bytes.Buffer))
		for _, err := range []error{err, pull(t, c.Ref("a").Keys(ctx)).fails(), pull(t, c.Ref("a").Children(ctx)).fails()} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("err = %v", err)
			}
		}
	})
	_, ana := openWith(t, `{"rules":{}}`)
	if err := pull(t, ana.Ref("a").Children(t.Context())).fails(); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Errorf("err = %v", err)
	}
	if err := pull(t, ana.Ref("a").Keys(t.Context())).fails(); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Errorf("err = %v", err)
	}
}

// Where a page of children is more than the server reads at once, smaller pages are read. A
// child alone that is more is ErrTooBig.
func TestLargeChildren(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	s := servertest.New(t, servertest.Options{Limits: server.Limits{MaxReadBytes: 300_000}})
	s.SetRules(`{"rules":{".read":true,"few":{".limit":3}}}`)
	for i := range 20 {
		s.Set(fmt.Sprintf("list/small%02d", i), "1")
		s.Set(fmt.Sprintf("list/large%02d", i), `"`+strings.Repeat("x", 100_000)+`"`)
		s.Set(fmt.Sprintf("few/%02d", i), "1")
	}
	c := dial(t, s.URL, quick)
	for path, most := range map[string]int{"list": 40, "few": 20} {
		for name, children := range map[string]iter.Seq2[dogwood.Snapshot, error]{
			"children": c.Ref(path).Children(t.Context()), "readable": c.Ref(path).Readable(t.Context()),
		} {
			n := 0
			for _, err := range children {
				want(t, err)
				n++
			}
			if n != most {
				t.Errorf("%d %s of %s, want %d", n, name, path, most)
			}
		}
	}
	s.Set("list/huge", `["`+strings.Repeat("x", 200_000)+`","`+strings.Repeat("x", 200_000)+`"]`)
	if err := pull(t, c.Ref("list").Children(t.Context())).fails(); !errors.Is(err, dogwood.ErrTooBig) {
		t.Errorf("err = %v, want ErrTooBig", err)
	}
}

// Streams wait while the client is offline, as all reads do.
func TestStreamsWaitOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		c, _ := s.client(dogwood.Options{})
		waitConnected(t, c)
		c.GoOffline()
		read := result(func() error { _, err := c.Ref("a").GetTo(t.Context(), new(bytes.Buffer)); return err })
		synctest.Wait()
		select {
		case err := <-read:
			t.Errorf("it was read: %v", err)
		default:
		}
		c.GoOnline()
		if err := <-read; err == nil || err.Error() != "get /a: nothing to read" {
			t.Errorf("err = %v", err)
		}
		s.accept("two")
	})
}

// A read that has begun ends with the client.
func TestStreamEndsWithTheClient(t *testing.T) {
	s := servertest.New(t, servertest.Options{})
	o := quick
	o.Token = dogwood.StaticToken("owner")
	c := dial(t, s.URL, o)
	for i := range 4 { // more than sockets buffer
		s.Set(fmt.Sprintf("large/%d", i), `"`+strings.Repeat("x", 4<<20)+`"`)
	}
	if n, err := c.Ref("large").GetTo(t.Context(), closer{c}); !errors.Is(err, dogwood.ErrClosed) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A closer closes a client once something is written.
type closer struct{ client *dogwood.Client }

func (c closer) Write(p []byte) (int, error) { return len(p), c.client.Close() }
