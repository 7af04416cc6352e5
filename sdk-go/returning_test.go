package dogwood_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

func TestReturning(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		want(t, c.Ref("n").Set(ctx, raw(`{"a":5,"b":{"c":1}}`)))
		got, err := c.Ref("n").UpdateReturning(ctx, map[string]any{"a": dogwood.Increment(2), "b/c": dogwood.Increment(0.5), "x": 1})
		if err != nil || fmt.Sprint(got) != "map[a:7 b/c:1.5]" {
			t.Errorf("%v, %v", got, err)
		}
		got, err = c.Ref("n/b").SetReturning(ctx, map[string]any{"c": dogwood.Increment(1), "d": []any{dogwood.Increment(3)}})
		if err != nil || fmt.Sprint(got) != "map[c:2.5 d/0:3]" {
			t.Errorf("%v, %v", got, err)
		}
		got, err = c.Ref("n/t").SetReturning(ctx, dogwood.ServerTimestamp)
		if at, e := dogwood.Get[float64](ctx, c.Ref("n/t")); err != nil || e != nil || got[""] != at || at == 0 {
			t.Errorf("%v, %v, but there is %v, %v", got, err, at, e)
		}
		got, err = c.Ref("n/plain").SetReturning(ctx, "x")
		if err != nil || got == nil || len(got) != 0 {
			t.Errorf("%v, %v", got, err)
		}
		got, err = c.Ref("n").UpdateReturning(ctx, nil)
		if err != nil || got == nil || len(got) != 0 {
			t.Errorf("%v, %v", got, err)
		}
		if _, err := c.Ref("a.b").Increment(ctx, 1); !errors.Is(err, dogwood.ErrPath) {
			t.Errorf("err = %v", err)
		}
		many := make([]any, 1001)
		for i := range many {
			many[i] = dogwood.Increment(1)
		}
		if _, err := c.Ref("many").SetReturning(ctx, many); !errors.Is(err, dogwood.ErrTooBig) {
			t.Errorf("err = %v", err)
		}
		if _, err := c.Ref("many").SetReturning(ctx, many[1:]); err != nil {
			t.Errorf("err = %v", err)
		}
	})
}

// Increments that run at once return different values, those that they led to.
func TestIncrementsReturnDifferentValues(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		var mu sync.Mutex
		seen := make(map[float64]bool)
		var running sync.WaitGroup
		for range 100 {
			running.Go(func() {
				n, err := c.Ref("counters/visits").Increment(t.Context(), 1)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				seen[n] = true
			})
		}
		running.Wait()
		for n := 1.0; n <= 100; n++ {
			if !seen[n] {
				t.Errorf("nobody was told %v; %d different values", n, len(seen))
			}
		}
	})
}

// A client that may write a counter but not read it does not get its value. The write
// succeeds nevertheless.
func TestReturningIsForReaders(t *testing.T) {
	db := open(t)
	ctx := t.Context()
	want(t, db.SetRules(ctx, `{"rules":{"hidden":{".write":true},"shut":{".read":true}}}`))
	want(t, db.Ref("hidden").Set(ctx, 41))
	c, err := db.As(nil)
	want(t, err)
	if n, err := c.Ref("hidden").Increment(ctx, 1); !errors.Is(err, dogwood.ErrNotReturned) || n != 0 {
		t.Errorf("%v, %v", n, err)
	}
	if got := value(t, db.Ref("hidden")); got != "42" {
		t.Errorf("hidden is %s", got)
	}
	if _, err := c.Ref("shut").Increment(ctx, 1); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Errorf("err = %v", err)
	}
}

// A write that had been carried out when its answer was lost has no values.
func TestReturningAgain(t *testing.T) {
	s := newScript(t)
	c, err := dogwood.New(t.Context(), s, dogwood.Options{Lazy: true})
	want(t, err)
	defer c.Close()
	done := make(chan error, 1)
	go func() {
		_, err := c.Ref("n").Increment(t.Context(), 1)
		done <- err
	}()
	conn := s.acceptWith("s", `["w","v"]`)
	conn.hear("p", `"v":1`)
	conn.Close()
	conn = s.acceptWith("s2", `["w","v"]`)
	conn.answer(conn.hear("p", `"v":1`), "ok", `""`)
	if err := <-done; !errors.Is(err, dogwood.ErrNotReturned) {
		t.Errorf("err = %v", err)
	}
}
