package dogwood_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/server/servertest"
)

// forcedReconnects is how often connections are cut under load.
const forcedReconnects = 50

// While a writer goes on, the connection of a listener is cut again and again.
// The test compares its view with the writes. The values of a counter come in order,
// none twice, and the last one in the end. The events fit together and lead to the
// server's data. When there are no more writes, a cut shows nothing.
func TestListenersSurviveReconnects(t *testing.T) {
	t.Run("memory", func(t *testing.T) { surviveReconnects(t, servertest.Options{}) })
	t.Run("log", func(t *testing.T) { surviveReconnects(t, servertest.Options{Dir: t.TempDir()}) })
}

func surviveReconnects(t *testing.T, o servertest.Options) {
	s := servertest.New(t, o)
	p := newProxy(t, s.Host)
	writer, reader := dial(t, s.URL, quick), dial(t, p.url(s.URL), quick)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	// The end is told by the last event of its batch: the change of the last child.
	want(t, writer.Ref("list/z").Set(ctx, "begun"))
	var listeners sync.WaitGroup
	const last = "last"
	settled := make(chan struct{})
	listeners.Go(func() { checkCounter(t, reader.Ref("counter").Values(ctx), settled, last) })
	var whole, window map[string]string
	listeners.Go(func() { whole = checkEvents(t, reader.Ref("list").Events(ctx), last) })
	listeners.Go(func() { window = checkEvents(t, reader.Ref("list").OrderByKey().LimitToLast(5).Events(ctx), last) })

	stop, written := make(chan struct{}), make(chan int)
	go func() { written <- load(t, writer, stop) }()
	for cuts := range forcedReconnects {
		<-p.accepted // by now the client knows that the last one is lost
		waitConnected(t, reader)
		want(t, writer.Ref("cuts").Set(ctx, cuts)) // the load goes on meanwhile
		p.cut()
	}
	close(stop)
	n := <-written
	want(t, writer.Update(ctx, map[string]any{"counter": "settled", "list/z": "settled"}))
	<-settled
	for range 3 {
		<-p.accepted
		waitConnected(t, reader)
		want(t, reader.Ref("round").Set(ctx, true)) // by now the listens are answered
		p.cut()
	}
	want(t, writer.Update(ctx, map[string]any{"counter": last, "list/z": last}))
	listeners.Wait()
	for name, c := range map[string]struct {
		got  map[string]string
		want dogwood.Query
	}{
		"list":   {whole, writer.Ref("list").Query},
		"window": {window, writer.Ref("list").OrderByKey().LimitToLast(5)},
	} {
		snap, err := c.want.Snapshot(ctx)
		want(t, err)
		want := make(map[string]string)
		for key, child := range snap.Children() {
			want[key] = child.JSON()
		}
		if fmt.Sprint(c.got) != fmt.Sprint(want) {
			t.Errorf("%s: the events lead to %v, the server has %v", name, c.got, want)
		}
	}
	t.Logf("%d writes", n)
}

// load writes until it is stopped, and returns how often.
func load(t *testing.T, c *dogwood.Client, stop chan struct{}) int {
	for n := 0; ; n++ {
		if isClosed(stop) {
			return n
		}
		key := fmt.Sprintf("k%02d", rand.N(20))
		values := map[string]any{"counter": n, "list/" + key: n}
		if n%3 == 0 {
			values["list/"+key] = nil
		}
		if err := c.Update(context.Background(), values); err != nil {
			t.Errorf("write %d: %v", n, err)
			return n
		}
	}
}

func waitConnected(t *testing.T, c *dogwood.Client) {
	for connected, err := range c.Connected(t.Context()) {
		want(t, err)
		if connected {
			return
		}
	}
}

// checkCounter follows a counter to its last value. Before that comes another one,
// which closes settled.
func checkCounter(t *testing.T, values func(func(dogwood.Snapshot, error) bool), settled chan struct{}, last string) {
	defer func() {
		if !isClosed(settled) {
			close(settled) // no need to wait: it has failed
		}
	}()
	before := -1.0
	for s, err := range values {
		if err != nil {
			t.Errorf("values: %v", err)
			return
		}
		switch v := s.Value().(type) {
		case string:
			if v == last {
				return
			}
			if isClosed(settled) {
				t.Errorf("value %q again", v)
				return
			}
			close(settled)
		case float64:
			if v <= before {
				t.Errorf("value %v after %v", v, before)
			}
			before = v
		}
	}
}

// checkEvents follows events until the last child comes, and returns the
// children that they lead to.
func checkEvents(t *testing.T, events func(func(dogwood.Event, error) bool), last string) map[string]string {
	have := make(map[string]string)
	for e, err := range events {
		if err != nil {
			t.Errorf("events: %v", err)
			return have
		}
		if e.Type == dogwood.ChildMoved { // the change itself comes next
			continue
		}
		old, known := have[e.Key]
		now := e.Value.JSON()
		switch {
		case known == (e.Type == dogwood.ChildAdded),
			e.Type == dogwood.ChildChanged && old == now,
			e.Type == dogwood.ChildRemoved && old != now:
			t.Errorf("%s, but there was %q", show(e), old)
		}
		if have[e.Key] = now; e.Type == dogwood.ChildRemoved {
			delete(have, e.Key)
		}
		if strings.Contains(now, last) {
			return have
		}
	}
	return have
}

// Writes through a connection that is cut again and again all take effect, in
// order and once each.
func TestWritesSurviveReconnects(t *testing.T) {
	s := servertest.New(t, servertest.Options{})
	p := newProxy(t, s.Host)
	c := dial(t, p.url(s.URL), quick)
	ctx := t.Context()
	stop := make(chan struct{})
	count := make(map[string]*int)
	var writers sync.WaitGroup
	for name, write := range map[string]func(i int) error{
		"sets":       func(i int) error { return c.Ref("sets").Set(ctx, i) },
		"increments": func(int) error { return c.Ref("increments").Set(ctx, dogwood.Increment(1)) },
		"pushes":     func(int) error { _, err := c.Ref("pushes").Push(ctx, true); return err },
		"updates": func(int) error {
			return c.Update(ctx, map[string]any{"updates/a": dogwood.Increment(1), "updates/b": dogwood.Increment(-1)})
		},
		"transactions": func(int) error {
			_, err := dogwood.Transaction(ctx, c.Ref("transactions"), func(n int) (int, error) { return n + 1, nil })
			return err
		},
		"creations": func(i int) error { return c.Ref("creations").Child(fmt.Sprint("c", i)).Create(ctx, true) },
	} {
		n := new(int)
		count[name] = n
		writers.Go(func() {
			for ; !isClosed(stop); *n++ {
				if err := write(*n); err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
			}
		})
	}
	for range forcedReconnects {
		<-p.accepted
		waitConnected(t, c)
		want(t, c.Ref("round").Set(ctx, true))
		p.cut()
	}
	close(stop)
	writers.Wait()
	for path, want := range map[string]int{
		"sets": *count["sets"] - 1, "increments": *count["increments"], "transactions": *count["transactions"],
		"updates/a": *count["updates"], "updates/b": -*count["updates"],
	} {
		if got := s.Get(path); got != fmt.Sprint(want) {
			t.Errorf("%s = %s, want %d", path, got, want)
		}
	}
	for _, path := range []string{"pushes", "creations"} {
		snap, err := c.Ref(path).Snapshot(ctx)
		want(t, err)
		if got := snap.NumChildren(); got != *count[path] {
			t.Errorf("%d %s, want %d", got, path, *count[path])
		}
	}
	for name, n := range count {
		t.Logf("%d %s", *n, name)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
