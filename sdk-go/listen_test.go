package dogwood_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/embed"
)

// A puller takes one element after the other from a loop.
type puller[T any] struct {
	t    testing.TB
	next func() (T, error, bool)
}

func pull[T any](t testing.TB, seq iter.Seq2[T, error]) puller[T] {
	next, stop := iter.Pull2(seq)
	t.Cleanup(stop)
	return puller[T]{t, next}
}

func (p puller[T]) get() T {
	p.t.Helper()
	v, err, ok := p.next()
	if err != nil || !ok {
		p.t.Fatalf("the loop ended: %v", err)
	}
	return v
}

// fails returns the error that ends the loop.
func (p puller[T]) fails() error {
	p.t.Helper()
	v, err, _ := p.next()
	if err == nil {
		p.t.Fatalf("got %v, want the end", v)
	}
	if _, _, more := p.next(); more {
		p.t.Errorf("the loop goes on after %v", err)
	}
	return err
}

// openWith opens a database with rules, and a client of a user.
func openWith(t testing.TB, document string) (db *embed.Database, user *dogwood.Client) {
	t.Helper()
	db = open(t)
	want(t, db.SetRules(t.Context(), document))
	user, err := db.As(map[string]any{"uid": "ana"})
	want(t, err)
	return db, user
}

func TestValues(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		values := pull(t, c.Ref("a").Values(ctx))
		if got := values.get(); got.Exists() || got.Key() != "a" {
			t.Errorf("first value = %v", got.JSON())
		}
		want(t, c.Ref("a/b").Set(ctx, 1))
		want(t, c.Ref("other").Set(ctx, 1))
		want(t, c.Ref("a").Set(ctx, map[string]any{"c": 2}))
		for _, want := range []string{`{"b":1}`, `{"c":2}`} {
			if got := values.get().JSON(); got != want {
				t.Errorf("value = %s, want %s", got, want)
			}
		}
		cancel()
		if err := values.fails(); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
	})
}

// The writer sees its own change at once, and sees it undone when it is denied.
func TestDeniedWriteIsUndone(t *testing.T) {
	ctx := t.Context()
	db, ana := openWith(t, `{"rules":{".read":true,"free":{".write":true}}}`)
	want(t, db.Ref("list").Set(ctx, map[string]any{"a": 1, "b": 2}))
	values := pull(t, ana.Ref("list").Values(ctx))
	window := pull(t, ana.Ref("list").OrderByKey().LimitToLast(2).Values(ctx))
	events := pull(t, ana.Ref("list").Events(ctx))
	values.get()
	window.get()
	events.get()
	events.get()
	err := ana.Ref("list/c").Set(ctx, 3)
	var e *dogwood.Error
	if !errors.Is(err, dogwood.ErrPermissionDenied) || !errors.As(err, &e) || e.Path != "/list/c" || e.Op != "set" {
		t.Fatalf("err = %v", err)
	}
	if got := err.Error(); got != "set /list/c: permission denied" {
		t.Errorf("text = %q", got)
	}
	for _, want := range []string{`{"a":1,"b":2,"c":3}`, `{"a":1,"b":2}`} {
		if got := values.get().JSON(); got != want {
			t.Errorf("value = %s, want %s", got, want)
		}
	}
	for _, want := range []string{`{"b":2,"c":3}`, `{"a":1,"b":2}`} {
		if got := window.get().JSON(); got != want {
			t.Errorf("window = %s, want %s", got, want)
		}
	}
	for _, want := range []string{"child_added c after b: 3", "child_removed c: 3"} {
		if got := show(events.get()); got != want {
			t.Errorf("event = %s, want %s", got, want)
		}
	}
}

func show(e dogwood.Event) string {
	after := ""
	if e.PrevKey != "" {
		after = " after " + e.PrevKey
	}
	return fmt.Sprintf("%v %s%s: %s", e.Type, e.Key, after, e.Value.JSON())
}

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name   string
		query  func(dogwood.Ref) dogwood.Query
		values []string
		events string
	}{
		{
			"by priority", func(r dogwood.Ref) dogwood.Query { return r.Query },
			[]string{`{"a":1,"b":2}`, `{"b":3,"c":4}`, `{"b":{".priority":1,".value":3},"c":4}`, `null`},
			`child_added a: 1
child_added b after a: 2
child_removed a: 1
child_added c after b: 4
child_changed b: 3
child_moved b after c: {".priority":1,".value":3}
child_changed b after c: {".priority":1,".value":3}
child_removed c: 4
child_removed b: {".priority":1,".value":3}
`,
		}, {
			"by child, limited", func(r dogwood.Ref) dogwood.Query { return r.OrderByChild("n").LimitToFirst(2) },
			[]string{`{"a":{"n":3},"b":{"n":1},"c":{"n":2}}`, `{"a":{"n":0},"b":{"n":1},"c":{"n":2}}`, `{"a":{"n":0,"x":1},"b":{"n":5},"c":{"n":2}}`},
			`child_added b: {"n":1}
child_added c after b: {"n":2}
child_removed c: {"n":2}
child_added a: {"n":0}
child_removed b: {"n":1}
child_added c after a: {"n":2}
child_changed a: {"n":0,"x":1}
`,
		}, {
			"by several, limited", func(r dogwood.Ref) dogwood.Query {
				return r.OrderByChildren("o", "n").EqualTo([]any{"u"}).LimitToLast(2)
			},
			[]string{`{"a":{"o":"u","n":1},"b":{"o":"u","n":2},"c":{"o":"v","n":3}}`, `{"a":{"o":"u","n":1},"b":{"o":"u","n":2},"c":{"o":"u","n":3}}`,
				`{"a":{"o":"u","n":9},"b":{"o":"u","n":2},"c":{"o":"u","n":3}}`},
			`child_added a: {"n":1,"o":"u"}
child_added b after a: {"n":2,"o":"u"}
child_removed a: {"n":1,"o":"u"}
child_added c after b: {"n":3,"o":"u"}
child_removed b: {"n":2,"o":"u"}
child_added a after c: {"n":9,"o":"u"}
`,
		}, {
			"by value", func(r dogwood.Ref) dogwood.Query { return r.OrderByValue().StartAt(2) },
			[]string{`{"a":1,"b":2,"c":"s"}`, `{"a":9,"b":2,"c":{"x":1}}`, `{"a":9,"b":2,"c":{"x":2}}`},
			`child_added b: 2
child_added c after b: "s"
child_added a after b: 9
child_moved c after a: {"x":1}
child_changed c after a: {"x":1}
child_changed c after a: {"x":2}
`,
		}, {
			"of a leaf", func(r dogwood.Ref) dogwood.Query { return r.OrderByKey() },
			[]string{`{"y":1}`, `7`, `{"10":true,"9":true,"x":true}`, `"leaf"`},
			`child_added y: 1
child_removed y: 1
child_added 9: true
child_added 10 after 9: true
child_added x after 10: true
child_removed 9: true
child_removed 10: true
child_removed x: true
`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := t.Context()
			db, ana := openWith(t, `{"rules":{".read":true,".write":true,"list":{".indexOn":["n",".value"]}}}`)
			events := pull(t, c.query(ana.Ref("list")).Events(ctx))
			var got strings.Builder
			for i, v := range c.values {
				want(t, db.Ref("list").Set(ctx, raw(v)))
				if i == 0 { // the loop begins
					fmt.Fprintln(&got, show(events.get()))
				}
			}
			for range strings.Count(c.events, "\n") - 1 {
				fmt.Fprintln(&got, show(events.get()))
			}
			if got.String() != c.events {
				t.Errorf("got\n%swant\n%s", got.String(), c.events)
			}
		})
	}
}

// raw is JSON that is a value.
type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func TestListenIsDenied(t *testing.T) {
	ctx := t.Context()
	db, ana := openWith(t, `{"rules":{"a":{".read":true}}}`)
	err := pull(t, ana.Ref("b").Values(ctx)).fails()
	if err == nil || err.Error() != "listen /b: permission denied" || !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Errorf("err = %v", err)
	}
	whole, window := pull(t, ana.Ref("a").Values(ctx)), pull(t, ana.Ref("a").LimitToFirst(2).Events(ctx))
	whole.get()
	want(t, db.Ref("a/x").Set(ctx, 1))
	window.get()
	whole.get()
	want(t, db.SetRules(ctx, `{"rules":{}}`))
	for _, err := range []error{whole.fails(), window.fails()} {
		if !errors.Is(err, dogwood.ErrPermissionDenied) {
			t.Errorf("err = %v", err)
		}
	}
}

// A listen that outgrows a .limit ends with the status and the text that a new one
// is refused with.
func TestListenOutgrowsItsLimit(t *testing.T) {
	ctx := t.Context()
	db, ana := openWith(t, `{"rules":{"a":{".read":true,".limit":1}}}`)
	whole, window := pull(t, ana.Ref("a").Values(ctx)), pull(t, ana.Ref("a").OrderByKey().StartAt("x").Values(ctx))
	whole.get()
	window.get()
	want(t, db.Ref("a").Set(ctx, map[string]any{"x": 1, "y": 2}))
	ended := []error{whole.fails(), window.fails()}
	refused := pull(t, ana.Ref("a").Values(ctx)).fails()
	for _, err := range ended {
		if !errors.Is(err, dogwood.ErrTooBig) || err.Error() != refused.Error() {
			t.Errorf("err = %v, want %v", err, refused)
		}
	}
}

// A loop that is slower than the changes sees the last state, and none out of
// order.
func TestSlowLoop(t *testing.T) {
	ctx := t.Context()
	db := open(t)
	const last = 500
	values, events := pull(t, db.Ref("n").Values(ctx)), pull(t, db.Ref("").Events(ctx))
	values.get()
	for i := range last + 1 {
		want(t, db.Ref("n").Set(ctx, i))
	}
	for _, seen := range [][]float64{
		collect(last, func() any { return values.get().Value() }),
		collect(last, func() any { return events.get().Value.Value() }),
	} {
		if !slices.IsSorted(seen) || len(seen) > last {
			t.Errorf("%d values: %v", len(seen), seen)
		}
	}
}

func collect(last float64, next func() any) (seen []float64) {
	for {
		n, _ := next().(float64)
		if seen = append(seen, n); n == last {
			return seen
		}
	}
}

// Calls of a closed client fail, and its loops end.
func TestClose(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		values := pull(t, c.Ref("a").Values(ctx))
		values.get()
		connected := pull(t, c.Connected(ctx))
		if !connected.get() {
			t.Error("not connected")
		}
		c.GoOffline()
		waiting := make(chan error)
		go func() { waiting <- c.Ref("b").Set(ctx, 1) }()
		if connected.get() {
			t.Error("connected")
		}
		want(t, c.Close())
		_, err := c.Ref("a").Transaction(ctx, func(dogwood.Snapshot) (any, error) { return 1, nil })
		for _, err := range []error{
			<-waiting, values.fails(), connected.fails(), err,
			c.Ref("a").Set(ctx, 1), c.Ref("a").Get(ctx, new(int)), c.Ref("a").OnDisconnect().Remove(ctx),
			pull(t, c.Ref("a").Events(ctx)).fails(), pull(t, c.Ref("a").Children(ctx)).fails(),
		} {
			if !errors.Is(err, dogwood.ErrClosed) {
				t.Errorf("err = %v, want ErrClosed", err)
			}
		}
	})
}

// Offline, a client's own listeners see what it writes; the server does when it
// is online again.
func TestOffline(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		values := pull(t, c.Ref("a").Values(ctx))
		values.get()
		c.GoOffline()
		written := make(chan error)
		go func() { written <- c.Ref("a").Set(ctx, "offline") }()
		if got := values.get().Value(); got != "offline" {
			t.Errorf("value = %v", got)
		}
		short, cancel := context.WithCancel(ctx)
		taken := make(chan error)
		go func() { taken <- c.Ref("a").Set(short, "taken back") }()
		values.get()
		cancel()
		if err := <-taken; !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
		if got := values.get().Value(); got != "offline" {
			t.Errorf("value = %v", got)
		}
		c.GoOnline()
		want(t, <-written)
		if got := value(t, c.Ref("a")); got != `"offline"` {
			t.Errorf("the server has %s", got)
		}
	})
}

// A large place is followed to its last state, too, while others and the client
// itself write into it.
func TestLargeView(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		want(t, c.Ref("list/large").Set(ctx, strings.Repeat("x", 9<<20)))
		values, events := pull(t, c.Ref("list").Values(ctx)), pull(t, c.Ref("list").Events(ctx))
		values.get()
		events.get()
		const last = 100
		for i := range last + 1 {
			want(t, c.Ref("list/n").Set(ctx, i))
		}
		for _, seen := range [][]float64{
			collect(last, func() any { return values.get().Child("n").Value() }),
			collect(last, func() any { return events.get().Value.Value() }),
		} {
			if !slices.IsSorted(seen) || len(seen) > last+1 {
				t.Errorf("%d values: %v", len(seen), seen)
			}
		}
		if got := value(t, c.Ref("list/n")); got != fmt.Sprint(last) {
			t.Errorf("n = %s", got)
		}
	})
}
