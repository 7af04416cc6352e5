package dogwood_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/internal/tier"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/embed"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// large is 17 MiB, in strings that a database takes.
func large() map[string]any {
	m := make(map[string]any)
	for i := range 17 {
		m[fmt.Sprint("k", i)] = strings.Repeat("x", 1<<20)
	}
	return m
}

// A request that is too long for the server fails alone: nothing of it is sent, and views
// do not keep it.
func TestLongRequests(t *testing.T) {
	tier.Unraced(t)
	ctx := t.Context()
	s := newSocketServer(t)
	c := s.dial(0)
	early := result(func() error { return c.Ref("early").Set(ctx, large()) })
	conn := s.accept()
	wide := c.Ref("b").OrderByValue().EqualTo(strings.Repeat("x", 9<<20))
	for name, call := range map[string]func() error{
		"set":           func() error { return c.Ref("a").Set(ctx, large()) },
		"update":        func() error { return c.Ref("a").Update(ctx, large()) },
		"on disconnect": func() error { return c.Ref("a").OnDisconnect().Set(ctx, large()) },
		"read":          func() error { _, err := wide.Snapshot(ctx); return err },
		"listen": func() error {
			for _, err := range wide.Values(ctx) {
				return err
			}
			return nil
		},
		"early": func() error { return <-early },
	} {
		if err := call(); !errors.Is(err, dogwood.ErrTooBig) {
			t.Errorf("%s: err = %v, want ErrTooBig", name, err)
		}
	}
	set := result(func() error { return c.Ref("a").Set(ctx, 1) })
	conn.answer(conn.hear("p", "/a"), `""`)
	want(t, <-set)
}

// The bound is one of the message, of as many bytes as the server reads.
func TestLongestRequest(t *testing.T) {
	tier.Unraced(t)
	s := newSocketServer(t)
	c := s.dial(0)
	conn := s.accept()
	envelope := len(wire.AppendPut(nil, 1, "/a", []byte(`{"k":"","l":""}`)))
	value := map[string]string{"k": strings.Repeat("x", 8<<20)}
	value["l"] = strings.Repeat("x", wire.DefaultMaxBytes-envelope-len(value["k"]))
	set := result(func() error { return c.Ref("a").Set(t.Context(), value) })
	msg := conn.hearPieces()
	if len(msg) != wire.DefaultMaxBytes {
		t.Fatalf("heard %d bytes", len(msg))
	}
	conn.answer(gjson.Get(msg, "d.r").Raw, `""`)
	want(t, <-set)
	value["l"] += "x"
	if err := c.Ref("a").Set(t.Context(), value); !errors.Is(err, dogwood.ErrTooBig) || !strings.Contains(err.Error(), fmt.Sprintf("has %d bytes, and the server takes at most %d", wire.DefaultMaxBytes+1, wire.DefaultMaxBytes)) {
		t.Errorf("err = %v, want ErrTooBig with the limit", err)
	}
}

// hearPieces takes the next message, however it is cut.
func (c *serverSocket) hearPieces() string {
	c.t.Helper()
	var pieces wire.Collector
	for {
		msg, done, err := pieces.Add(string(c.read()))
		want(c.t, err)
		if done {
			return msg
		}
	}
}

// Inside of the process nothing is cut, so nothing is too long.
func TestLongRequestEmbedded(t *testing.T) {
	tier.Unraced(t)
	db, err := embed.Open("")
	want(t, err)
	t.Cleanup(func() { want(t, db.Close()) })
	want(t, db.Ref("a").Set(t.Context(), large()))
}
