package dogwood_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

func TestTransaction(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		ctx := t.Context()
		r := c.Ref("a")
		want(t, r.SetWithPriority(ctx, 1, "p"))
		s, err := r.Transaction(ctx, func(s dogwood.Snapshot) (any, error) { return s.Value().(float64) + 1, nil })
		if err != nil || s.JSON() != `{".priority":"p",".value":2}` {
			t.Errorf("%s, %v", s.JSON(), err)
		}
		if _, err = r.Transaction(ctx, func(s dogwood.Snapshot) (any, error) { return dogwood.WithPriority(3, nil), nil }); err != nil {
			t.Error(err)
		}
		enough := errors.New("enough")
		s, err = r.Transaction(ctx, func(dogwood.Snapshot) (any, error) { return nil, enough })
		if err != enough || s.Value() != 3.0 {
			t.Errorf("%v, %v", s.Value(), err)
		}
		s, err = r.Transaction(ctx, func(dogwood.Snapshot) (any, error) { return dogwood.ServerTimestamp, nil })
		if now, _ := s.Value().(float64); err != nil || now < 1e12 {
			t.Errorf("%v, %v", s.Value(), err)
		}
		if _, err = r.Transaction(ctx, func(dogwood.Snapshot) (any, error) { return func() {}, nil }); !errors.Is(err, dogwood.ErrValue) {
			t.Errorf("err = %v", err)
		}
		n, err := dogwood.Transaction(ctx, c.Ref("b"), func(list []string) ([]string, error) { return append(list, "x"), nil })
		if err != nil || fmt.Sprint(n) != "[x]" {
			t.Errorf("%v, %v", n, err)
		}
	})
}

// The priority stays, also that of a value which the server makes.
func TestTransactionKeepsPriority(t *testing.T) {
	both(t, func(t *testing.T, c *dogwood.Client) {
		r := c.Ref("a")
		for _, c := range []struct {
			set  any
			then string
		}{
			{dogwood.Increment(2), `{".priority":"p",".value":3}`},
			{map[string]any{"n": dogwood.Increment(2), "text": "x"}, `{".priority":"p","n":2,"text":"x"}`},
			{map[string]any{"n": dogwood.WithPriority(dogwood.Increment(2), 1)}, `{".priority":"p","n":{".priority":1,".value":2}}`},
			{dogwood.WithPriority(dogwood.Increment(2), "own"), `{".priority":"own",".value":3}`},
			{dogwood.WithPriority("x", dogwood.Increment(4)), `{".priority":4,".value":"x"}`},
		} {
			want(t, r.SetWithPriority(t.Context(), 1, "p"))
			s, err := r.Transaction(t.Context(), func(dogwood.Snapshot) (any, error) { return c.set, nil })
			if err != nil || s.JSON() != c.then || value(t, r) != c.then {
				t.Errorf("%v: %s, %v, then %s, want %s", c.set, s.JSON(), err, value(t, r), c.then)
			}
		}
	})
}

// No increment of many clients is lost.
func TestConcurrentTransactions(t *testing.T) {
	ctx := t.Context()
	db := open(t)
	const clients, each = 4, 25
	var all sync.WaitGroup
	for i := range clients {
		c, err := db.As(nil)
		want(t, err)
		if i == 0 {
			want(t, db.SetRules(ctx, `{"rules":{".read":true,".write":true}}`))
		}
		for range each {
			all.Go(func() {
				if _, err := dogwood.Transaction(ctx, c.Ref("n"), func(n int) (int, error) { return n + 1, nil }); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if got := value(t, db.Ref("n")); got != fmt.Sprint(clients*each) {
		t.Errorf("n = %s, want %d", got, clients*each)
	}
}

func TestTransactionFails(t *testing.T) {
	ctx := t.Context()
	db, ana := openWith(t, `{"rules":{"r":{".read":true},"rw":{".read":true,".write":true}}}`)
	set := func(dogwood.Snapshot) (any, error) { return 1, nil }
	for _, path := range []string{"r", "none"} {
		if _, err := ana.Ref(path).Transaction(ctx, set); !errors.Is(err, dogwood.ErrPermissionDenied) {
			t.Errorf("%s: err = %v", path, err)
		}
	}
	// Another client is always faster.
	tries := 0
	_, err := ana.Ref("rw").Transaction(ctx, func(s dogwood.Snapshot) (any, error) {
		tries++
		want(t, db.Ref("rw").Set(ctx, tries))
		return "mine", nil
	})
	if !errors.Is(err, dogwood.ErrMaxRetries) || tries != 25 {
		t.Errorf("%d tries, %v", tries, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	_, err = ana.Ref("rw").Transaction(ctx, func(dogwood.Snapshot) (any, error) {
		cancel()
		return 2, db.Ref("rw").Set(t.Context(), "other")
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if _, err := ana.Ref("a.b").Transaction(ctx, set); err == nil || err.Error() != "transaction: invalid path \"a.b\": keys have no . $ # [ ] / and no control characters" {
		t.Errorf("err = %v", err)
	}
}

// A transaction that waits for another one can be given up.
func TestTransactionsTakeTurns(t *testing.T) {
	c := open(t).Client
	began, finish := make(chan struct{}), make(chan struct{})
	first := make(chan error)
	go func() {
		_, err := c.Ref("a/b").Transaction(t.Context(), func(dogwood.Snapshot) (any, error) {
			close(began)
			<-finish
			return 1, nil
		})
		first <- err
	}()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Ref("a").Transaction(ctx, func(dogwood.Snapshot) (any, error) { return 2, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if _, err := c.Ref("other").Transaction(t.Context(), func(dogwood.Snapshot) (any, error) { return 3, nil }); err != nil {
		t.Error(err)
	}
	close(finish)
	want(t, <-first)
}

// A transaction that waits for another one ends with the client.
func TestClosedBeforeItsTurn(t *testing.T) {
	_, c := openWith(t, `{"rules":{".read":true,".write":true}}`)
	began, finish := make(chan struct{}), make(chan struct{})
	set := func(dogwood.Snapshot) (any, error) { return 2, nil }
	first := result(func() error {
		_, err := c.Ref("a").Transaction(t.Context(), func(dogwood.Snapshot) (any, error) {
			close(began)
			<-finish
			return 1, nil
		})
		return err
	})
	<-began
	second := result(func() error { _, err := c.Ref("a").Transaction(t.Context(), set); return err })
	for dogwood.Turns(c) < 2 {
		runtime.Gosched()
	}
	want(t, c.Close())
	returns(t, "the second one", second, dogwood.ErrClosed)
	close(finish)
	returns(t, "the first one", first, dogwood.ErrClosed)
}
