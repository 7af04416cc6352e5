package dogwood_test

import (
	"context"
	"errors"
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
// What it sees is checked against what was written: the values of a counter in
// order, none twice, and in the end the last; and events that fit together and
// lead to what the server has.
func TestListenersSurviveReconnects(t *testing.T) {
	s := servertest.New(t, servertest.Options{})
	p := newProxy(t, s.Host)
	writer, reader := dial(t, s.URL, quick), dial(t, p.url(s.URL), quick)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	// The end is told by the last event of its batch: the change of the last child.
	want(t, writer.Ref("list/z").Set(ctx, "begun"))
	var listeners sync.WaitGroup
	const last = "done"
	listeners.Go(func() { checkCounter(t, reader.Ref("counter").Values(ctx), last) })
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

// checkCounter follows a counter to its last value.
func checkCounter(t *testing.T, values func(func(dogwood.Snapshot, error) bool), last string) {
	before := -1.0
	for s, err := range values {
		if err != nil {
			t.Errorf("values: %v", err)
			return
		}
		switch v := s.Value().(type) {
		case nil:
		case string:
			if v != last {
				t.Errorf("value %q", v)
			}
			return
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
// order; transactions that fail say so, and those that don't count once.
func TestWritesSurviveReconnects(t *testing.T) {
	s := servertest.New(t, servertest.Options{})
	p := newProxy(t, s.Host)
	c := dial(t, p.url(s.URL), quick)
	ctx := t.Context()
	var writers sync.WaitGroup
	stop := make(chan struct{})
	sets, sure, unsure := 0, 0, 0
	writers.Go(func() {
		for ; !isClosed(stop); sets++ {
			if err := c.Ref("sets").Set(ctx, sets); err != nil {
				t.Errorf("set: %v", err)
			}
		}
	})
	writers.Go(func() {
		for !isClosed(stop) {
			_, err := dogwood.Transaction(ctx, c.Ref("sum"), func(n int) (int, error) { return n + 1, nil })
			switch {
			case err == nil:
				sure++
			case errors.Is(err, dogwood.ErrDisconnected):
				unsure++
			default:
				t.Errorf("transaction: %v", err)
			}
		}
	})
	for range forcedReconnects {
		<-p.accepted
		waitConnected(t, c)
		want(t, c.Ref("round").Set(ctx, true))
		p.cut()
	}
	close(stop)
	writers.Wait()
	if got := s.Get("/sets"); got != fmt.Sprint(sets-1) {
		t.Errorf("sets = %s, want %d", got, sets-1)
	}
	sum, err := dogwood.Get[int](ctx, c.Ref("sum"))
	want(t, err)
	if sum < sure || sum > sure+unsure {
		t.Errorf("sum = %d, want %d to %d", sum, sure, sure+unsure)
	}
	t.Logf("%d sets, %d transactions and %d lost answers", sets, sure, unsure)
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
