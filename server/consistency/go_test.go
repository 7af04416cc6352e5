package consistency

import (
	"context"
	"fmt"
	"sync"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// A goClient is the Go client.
type goClient struct {
	ctx context.Context
	db  *dogwood.Client
}

func dialGo(ctx context.Context, host string) (*dogwood.Client, error) {
	return dogwood.Dial(ctx, "http://"+host+"?ns=test", dogwood.Options{Lazy: true, MinBackoff: 5 * time.Millisecond, MaxBackoff: 50 * time.Millisecond})
}

func newGoClient(ctx context.Context, host string) (*goClient, error) {
	db, err := dialGo(ctx, host)
	return &goClient{ctx, db}, err
}

func (c *goClient) read(key string) (string, error) { return dogwood.Get[string](c.ctx, c.db.Ref(key)) }

func (c *goClient) write(key, tag string) error { return c.db.Ref(key).Set(c.ctx, tag) }

func (c *goClient) swap(key string, tag func() string) (tried []attempt, done bool) {
	_, err := c.db.Ref(key).Transaction(c.ctx, func(s dogwood.Snapshot) (any, error) {
		old, _ := s.Value().(string)
		a := attempt{Old: old, Tag: tag()}
		tried = append(tried, a)
		return a.Tag, nil
	})
	return tried, err == nil
}

// resends: writes carry ids by which the server knows them again.
func (c *goClient) resends() bool { return false }

func (c *goClient) kind() string { return "go" }

func (c *goClient) close() error { return c.db.Close() }

// A goWatcher follows everything with the Go client.
type goWatcher struct {
	db   *dogwood.Client
	done chan struct{}
	view
}

// A view is the latest that a listener has seen.
type view struct {
	mu    sync.Mutex
	last  map[string]string
	err   error
	moved chan struct{} // gets an element when there is something new
}

func (v *view) set(last map[string]string, err error) {
	v.mu.Lock()
	v.last, v.err = last, err
	v.mu.Unlock()
	select {
	case v.moved <- struct{}{}:
	default:
	}
}

func (v *view) await(ctx context.Context, want map[string]string) error {
	for {
		v.mu.Lock()
		got, err := v.last, v.err
		v.mu.Unlock()
		switch {
		case err != nil:
			return err
		case sameView(got, want):
			return nil
		}
		select {
		case <-v.moved:
		case <-ctx.Done():
			return fmt.Errorf("the view is %v, want %v", got, want)
		}
	}
}

func newGoWatcher(ctx context.Context, host string) (*goWatcher, error) {
	db, err := dialGo(ctx, host)
	if err != nil {
		return nil, err
	}
	w := &goWatcher{db: db, done: make(chan struct{}), view: view{moved: make(chan struct{}, 1)}}
	go func() {
		defer close(w.done)
		for value, err := range dogwood.Values[map[string]string](ctx, db.Ref("lin")) {
			w.set(value, err)
		}
		w.set(nil, errEnded)
	}()
	return w, nil
}

func (w *goWatcher) close() error {
	err := w.db.Close()
	<-w.done
	return err
}
